/* The name of this browser profile towards the host: random, made once, the same after every restart. Knows nothing about
   the person; it only keeps two profiles of one browser apart. */
import { z } from 'zod';
import { INSTANCE_HEX } from '../contract/limits';
import { Stored, shaped } from './storage';

const record = new Stored(
  shaped(
    'local',
    'instance',
    z
      .string()
      .regex(/^[0-9a-f]+$/)
      .length(INSTANCE_HEX),
    '',
  ),
);

export function instance(): Promise<string> {
  return record.change((now) => (now === '' ? fresh() : now));
}

function fresh(): string {
  return crypto.getRandomValues(new Uint8Array(INSTANCE_HEX / 2)).toHex();
}
