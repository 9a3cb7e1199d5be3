import { StoreUnavailable } from '#core/store-unavailable.ts';
import { HEAD_BYTES, responseBytesOf, SEALED_SEGMENT_BYTES } from '../../fairness/sealed-segments.ts';
import type { RequestSeal } from './sealed-response.ts';

/** Response of an earlier request, read from the database at the client's pace. */
export interface StoredResponse {
  readonly bytes: number;
  /** Most bytes that are in memory at once. */
  readonly memoryBytes: number;
  /** Reads the next bytes. Rejects if they are not what was stored. */
  next(): Promise<NextBytes>;
}

/** `gone`: the response was deleted or evicted meanwhile, or the database is unavailable. */
export type NextBytes = Buffer | 'end' | 'gone';

/** Reads at most `bytes` at `from`. `undefined`: they are gone. Rejects with StoreUnavailable. */
export type ReadSealed = (from: number, bytes: number) => Promise<Buffer | undefined>;

/** Size of the first read: one segment, because a client may be cut off after its first byte. */
const FIRST_BYTES = HEAD_BYTES + SEALED_SEGMENT_BYTES;
/** Segments of one read. Larger reads are no cheaper per byte, as PostgreSQL sends hex text. */
const SEGMENTS_AT_ONCE = 4;
/** Segments first read one by one, so that a client that is soon cut off costs little. */
const SLOW_SEGMENTS = 4;

/** Opens a stored response. `undefined`: it is gone. Rejects with StoreUnavailable. */
export async function openStoredResponse(
  readSealed: ReadSealed,
  seal: RequestSeal,
  generationId: string,
  sealedBytes: number,
): Promise<StoredResponse | undefined> {
  const head = await readSealed(0, FIRST_BYTES);
  if (head === undefined) return undefined;
  const read: ReadSealed = (from, bytes) => readSealed(from, bytes).catch(goneWhereUnavailable);
  const open = seal.segments(head, sealedBytes, generationId);
  let position = 0;
  return {
    bytes: responseBytesOf(sealedBytes),
    memoryBytes: Math.min(sealedBytes, SEGMENTS_AT_ONCE * SEALED_SEGMENT_BYTES),
    async next() {
      const at = HEAD_BYTES + position * SEALED_SEGMENT_BYTES;
      if (at >= sealedBytes) return 'end';
      const segments = position < SLOW_SEGMENTS ? 1 : SEGMENTS_AT_ONCE;
      const bytes = Math.min(segments * SEALED_SEGMENT_BYTES, sealedBytes - at);
      const sealed = position === 0 ? head.subarray(HEAD_BYTES) : await read(at, bytes);
      if (sealed === undefined) return 'gone';
      if (sealed.length !== bytes) throw new Error(`a stored response ends after ${at + sealed.length} bytes`);
      const opened = open(sealed, position);
      position += segments;
      return opened;
    },
  };
}

function goneWhereUnavailable(error: unknown): undefined {
  if (!(error instanceof StoreUnavailable)) throw error;
}
