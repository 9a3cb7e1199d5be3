import { ERROR_CODES, type ErrorEntry } from '#core/errors/error-codes.ts';
import { type Envelope, envelopeOf, type Refusal, renderRefusal } from '#core/errors/refusal.ts';
import type { Door } from './door.ts';

/** Renames the field of a refusal, and the beginnings of values that name it. */
export function renamed(refusal: Refusal, name: (param: string) => string): Refusal {
  const entry: ErrorEntry = ERROR_CODES[refusal.code];
  const param = refusal.param ?? entry.param;
  if (param === undefined) return refusal;
  const to = name(param);
  const entries = Object.entries(refusal.values).map(([place, value]) => {
    const isNamed = typeof value === 'string' && value.startsWith(param);
    return [place, isNamed ? to + value.slice(param.length) : value] as const;
  });
  return { ...refusal, param: to, values: Object.fromEntries(entries) };
}

/** The error of a refusal, with the field as clients of the door know it. */
export function errorAtDoor(refusal: Refusal, door: Door): Envelope['error'] {
  // The name of an unknown parameter is the client's own.
  const isOwn = refusal.code === 'unknown_parameter';
  return envelopeOf(isOwn ? refusal : renamed(refusal, (param) => door.param(param))).error;
}

export function headersAtDoor(door: Door | undefined, requestId: string): Readonly<Record<string, string>> {
  return door?.idHeader === undefined ? {} : { [door.idHeader]: requestId };
}

/** Renders a refusal like `renderRefusal`, but in the form of the door. */
export function renderAtDoor(
  refusal: Refusal,
  door: Door | undefined,
  requestId: string,
): ReturnType<typeof renderRefusal> {
  const rendered = renderRefusal(refusal);
  if (door === undefined) return rendered;
  const headers = { ...rendered.headers, ...headersAtDoor(door, requestId) };
  return { ...rendered, headers, body: Buffer.from(JSON.stringify(door.error(errorAtDoor(refusal, door), requestId))) };
}
