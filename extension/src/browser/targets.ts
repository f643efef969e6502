/* Names of elements as clients use them: `e5` in the page itself, `f3:e5` in its frame 3. Decides nothing else. */

const IN_FRAME = /^f(\d{1,9}):(e\d+)$/;

/** The frame a ref belongs to, and the ref as that frame's document knows it. Anything else is the page's own. */
export function splitRef(name: string): { frame: number; ref: string } {
  const [, frame, ref] = IN_FRAME.exec(name) ?? [];
  return frame === undefined || ref === undefined ? { frame: 0, ref: name } : { frame: Number(frame), ref };
}

export const prefixOf = (frame: number): string => (frame === 0 ? '' : `f${frame}:`);
