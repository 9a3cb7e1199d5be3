import { type Envelope, envelopeOf, type Refusal, renderRefusal } from '#core/errors/refusal.ts';
import type { Door } from './door.ts';

/** The error of a refusal, with the field as clients of the door know it. */
export function errorAtDoor(refusal: Refusal, door: Door | undefined): Envelope['error'] {
  const { error } = envelopeOf(refusal);
  const { param, message } = error;
  const named = param === undefined ? undefined : door?.param(param);
  if (param === undefined || named === undefined || named === param) return error;
  return { ...error, param: named, message: message.replace(param, () => named) };
}

/** As `renderRefusal`, in the form of the door. */
export function renderAtDoor(
  refusal: Refusal,
  door: Door | undefined,
  requestId: string,
): ReturnType<typeof renderRefusal> {
  const rendered = renderRefusal(refusal);
  if (door === undefined) return rendered;
  return { ...rendered, body: Buffer.from(JSON.stringify(door.error(errorAtDoor(refusal, door), requestId))) };
}
