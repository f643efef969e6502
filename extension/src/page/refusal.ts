// A refusal inside a page: its code and the sentence for this case. What it quotes from the page is page text and is
// masked like any other before it leaves the extension.

import type { PageCode } from './protocol';

export class Refused extends Error {
  constructor(
    readonly code: PageCode,
    message: string,
  ) {
    super(message);
  }
}

export const failed = (message: string): Refused => new Refused('EXECUTION_FAILED', message);
export const invalid = (message: string): Refused => new Refused('INVALID_ARGUMENT', message);
