/* Draws the extension's icons: a gate with a lit doorway. Run by hand with `node extension/icons.ts` when the drawing
   changes; the PNG files are committed, so that no build needs it. Knows no image library, only PNG's own grammar. */
import { writeFileSync } from 'node:fs';
import { crc32, deflateSync } from 'node:zlib';

type Colour = readonly [red: number, green: number, blue: number, alpha: number];
const CLEAR: Colour = [0, 0, 0, 0];
const WOOD: Colour = [38, 43, 61, 255];
const LIGHT: Colour = [246, 197, 96, 255];

/** Samples a pixel takes in each direction, so that edges are smooth. */
const SAMPLES = 4;

/** The drawing in a unit square: roof beam, tie beam, two posts, and light between them. */
function colourAt(x: number, y: number): Colour {
  const roof = y >= 0.12 && y <= 0.25 && x >= 0.04 + (y - 0.12) * 0.4 && x <= 0.96 - (y - 0.12) * 0.4;
  const tie = y >= 0.34 && y <= 0.43 && x >= 0.12 && x <= 0.88;
  const post = y >= 0.25 && y <= 0.92 && ((x >= 0.18 && x <= 0.3) || (x >= 0.7 && x <= 0.82));
  if (roof || tie || post) return WOOD;
  return y > 0.43 && y <= 0.92 && x > 0.3 && x < 0.7 ? LIGHT : CLEAR;
}

function pixel(column: number, row: number, size: number): number[] {
  const sum = [0, 0, 0, 0];
  for (let sample = 0; sample < SAMPLES * SAMPLES; sample++) {
    const x = (column + ((sample % SAMPLES) + 0.5) / SAMPLES) / size;
    const y = (row + (Math.floor(sample / SAMPLES) + 0.5) / SAMPLES) / size;
    const [red, green, blue, alpha] = colourAt(x, y);
    for (const [channel, value] of [red * alpha, green * alpha, blue * alpha, alpha].entries()) {
      sum[channel] = (sum[channel] ?? 0) + value;
    }
  }
  const [red = 0, green = 0, blue = 0, alpha = 0] = sum;
  const share = alpha === 0 ? 0 : 1 / alpha;
  return [red * share, green * share, blue * share, alpha / (SAMPLES * SAMPLES)].map(Math.round);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.length, 0);
  frame.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
}

function png(size: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(size, 0);
  header.writeUInt32BE(size, 4);
  header.set([8, 6, 0, 0, 0], 8);
  const rows = Array.from({ length: size }, (_, row) => [
    0,
    ...Array.from({ length: size }, (_, column) => pixel(column, row, size)).flat(),
  ]);
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.from(rows.flat()), { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

for (const size of [16, 32, 48, 128]) writeFileSync(new URL(`public/icon/${size}.png`, import.meta.url), png(size));
