import type { RequestShaping } from '../../core/config/gateway-config.ts';
import type { Span } from './json/json-cursor.ts';
import { changesRoles, shapedRole } from './request-shaping.ts';

/** A place in the body, and the pieces that stand there instead. */
interface Edit extends Span {
  readonly pieces: readonly Buffer[];
}

/** Gives images that are plain strings the official form. */
export function imageEdits(bytes: Buffer, bareImages: readonly Span[]): readonly Edit[] {
  return bareImages.map(({ start, end }) => ({
    start,
    end,
    pieces: [URL_OPEN, bytes.subarray(start, end), URL_CLOSE],
  }));
}

const URL_OPEN = Buffer.from('{"url":');
const URL_CLOSE = Buffer.from('}');

/** Changes of roles. `roles` has the start and end of each message's role, quotes included. */
export function roleEdits(bytes: Buffer, roles: Int32Array, shaping: readonly RequestShaping[]): readonly Edit[] {
  const edits: Edit[] = [];
  if (!changesRoles(shaping)) return edits;
  /** By the role as it is written, which may have escapes. */
  const known = new Map<string, readonly Buffer[] | undefined>();
  for (let at = 0; at < roles.length; at += 2) {
    const [start, end] = [roles[at] as number, roles[at + 1] as number];
    const written = bytes.toString('latin1', start, end);
    if (!known.has(written)) {
      const role = JSON.parse(written) as string;
      const shaped = shapedRole(role, shaping);
      known.set(written, shaped === role ? undefined : [Buffer.from(JSON.stringify(shaped))]);
    }
    const pieces = known.get(written);
    if (pieces !== undefined) edits.push({ start, end, pieces });
  }
  return edits;
}

/** The bytes of the span in pieces, edited. */
export function editedPieces(bytes: Buffer, { start, end }: Span, edits: readonly Edit[]): readonly Buffer[] {
  if (edits.length === 0) return [bytes.subarray(start, end)];
  const pieces: Buffer[] = [];
  let from = start;
  for (const edit of edits.toSorted((a, b) => a.start - b.start)) {
    pieces.push(bytes.subarray(from, edit.start), ...edit.pieces);
    from = edit.end;
  }
  pieces.push(bytes.subarray(from, end));
  return joined(pieces);
}

/** Pieces that are copied together, and their length: each piece is a write to the provider. */
const SMALL_BYTES = 4096;
const JOINED_BYTES = 65_536;

function joined(pieces: readonly Buffer[]): readonly Buffer[] {
  const whole: Buffer[] = [];
  let run: Buffer[] = [];
  let runBytes = 0;
  const flush = () => {
    if (run.length > 0) whole.push(Buffer.concat(run, runBytes));
    run = [];
    runBytes = 0;
  };
  for (const piece of pieces) {
    if (piece.length > SMALL_BYTES || runBytes >= JOINED_BYTES) flush();
    if (piece.length > SMALL_BYTES) {
      whole.push(piece);
      continue;
    }
    run.push(piece);
    runBytes += piece.length;
  }
  flush();
  return whole;
}
