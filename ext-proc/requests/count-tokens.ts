import { isRefusal } from '#core/errors/refusal.ts';
import type { BoundTokens } from '#core/tokenizer.ts';
import { chooseModel, countInput } from '../chat/choose-model.ts';
import { COUNT_DOOR } from '../doors/messages/messages-door.ts';
import type { AuthorizedRequest, EndpointResult } from './authorized-request.ts';
import { clientGone, type ReadingDeps, readSent } from './read-sent.ts';

interface CountingDeps extends ReadingDeps {
  readonly boundTokens: BoundTokens;
}

/**
 * `POST /v1/messages/count_tokens`: the input tokens of a message, counted by the model's tokenizer
 * or estimated. It is a read: nothing is held and nothing is charged. The input may be longer than
 * the model accepts, because that is what clients want to find out.
 */
export async function countTokens(deps: CountingDeps, request: AuthorizedRequest): Promise<EndpointResult> {
  const read = await readSent(deps, request, COUNT_DOOR);
  if (read.kind !== 'read') return read;
  const { chat, inTurns } = read;
  request.notes.model = chat.model;
  const chosen = await chooseModel(chat, request.principal, request.config, deps.boundTokens, inTurns);
  if (chosen === undefined) return clientGone(request);
  if (isRefusal(chosen) && chosen.code !== 'context_length_exceeded') return chosen;
  const limited = await request.takeRead();
  if (limited) return limited;
  const counted = await countInput(chat, request.principal, request.config, deps.boundTokens);
  const tokens = counted?.estimate ?? (await inTurns(chat.wholeEstimate()));
  return tokens === undefined ? clientGone(request) : { kind: 'json', body: { input_tokens: tokens } };
}
