/* The generated catalogue as the gates use it: the row of an operation, and a request read as a call. Refuses unknown
   operations and arguments that do not fit, naming the argument. It adds no rule of its own. */
import type { ZodType } from 'zod';
import type { BridgeReq } from '../contract/frames';
import { ARGS, type ArgsOf, OPS, type Op } from '../contract/ops';
import { Refused } from './refused';

type Spec = (typeof OPS)[number];

const SPECS: ReadonlyMap<string, Spec> = new Map(OPS.map((spec) => [spec.name, spec]));
const CHECKS: { readonly [O in Op]: ZodType<ArgsOf<O>> } = ARGS;

export function specOf(op: Op): Spec {
  const spec = SPECS.get(op);
  if (spec === undefined) throw unknownOp();
  return spec;
}

export function understood(request: BridgeReq): { op: Op; args: ArgsOf<Op> } {
  const op = SPECS.get(request.op)?.name;
  if (op === undefined) throw unknownOp();
  return { op, args: fitting(op, request.args) };
}

function fitting<O extends Op>(op: O, raw: unknown): ArgsOf<O> {
  const read = CHECKS[op].safeParse(raw);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const where = issue === undefined || issue.path.length === 0 ? '' : `\`${issue.path.join('.')}\`: `;
  throw new Refused('INVALID_ARGUMENT', `${op}: ${where}${issue?.message ?? 'the arguments do not fit'}.`);
}

function unknownOp(): Refused {
  return new Refused('INVALID_ARGUMENT', 'This browser knows no such tool. Update or reload the extension.');
}
