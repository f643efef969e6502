/* The one error that a call may end with: a stable code and a sentence for a person. Everything else that is thrown is a
   defect or the browser's own words, and leaves as INTERNAL_ERROR or EXECUTION_FAILED without its text. */
import { type Code, ERROR_SPECS } from '../contract/errors';

export class Refused extends Error {
  readonly code: Code;
  /** What the page's side said of it: names of its elements are the page's words, so it leaves inside a boundary. */
  readonly page?: { origin: string; text: string };

  /** Without a sentence for this case, the code's own is used. */
  constructor(code: Code, sentence: string = ERROR_SPECS[code].message, page?: { origin: string; text: string }) {
    super(sentence);
    this.name = 'Refused';
    this.code = code;
    if (page !== undefined) this.page = page;
  }
}
