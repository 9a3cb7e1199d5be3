import type { GatewayConfig } from '../../core/config/gateway-config.ts';
import { isRefusal, type Refusal } from '../../core/errors/refusal.ts';
import type { Principal } from '../../core/principal.ts';
import type { BoundTokens } from '../../core/tokenizer.ts';
import type { Steps } from '../shared-budget/steps.ts';
import type { ChatRequest } from './chat-request.ts';
import { checkModel, isLengthOpen, type ModelChoice } from './check-model.ts';
import type { InputTokens } from './tokens/input-tokens.ts';

/** A request whose model and output limit are decided. */
export interface ChatWithModel {
  readonly chat: ChatRequest;
  readonly choice: ModelChoice;
}

/**
 * Further above the window than this no count brings an estimate below it (token-bounds.test.ts).
 */
const ESTIMATE_AT_MOST_TIMES = 2;

/** Does the work in turns with that of others; `undefined`: the client left. */
export type InTurns = <Result>(steps: Steps<Result>) => Result | undefined | Promise<Result | undefined>;

/**
 * `checkModel`, but input is counted before it is refused for being too long, where the model's
 * tokenizer is known. `undefined`: the client left.
 */
export async function chooseModel(
  chat: ChatRequest,
  principal: Principal,
  config: GatewayConfig,
  boundTokens: BoundTokens,
  inTurns: InTurns,
): Promise<ChatWithModel | Refusal | undefined> {
  let choice = checkModel(chat, principal, config);
  const model = config.models.get(chat.model);
  if (model !== undefined && reachedLength(choice) && isLengthOpen(chat, model)) {
    const estimate = await inTurns(chat.wholeEstimate());
    if (estimate === undefined) return undefined;
    choice = checkModel(chat, principal, config, estimate);
  }
  if (!isRefusal(choice)) return { chat, choice };
  const window = model?.contextWindow ?? 0;
  if (choice.code !== 'context_length_exceeded' || chat.inputTokens.estimate > ESTIMATE_AT_MOST_TIMES * window)
    return choice;
  return (await chooseByCount(chat, principal, config, boundTokens)) ?? choice;
}

/** A request that has passed every check before that of its input's length. */
function reachedLength(choice: ModelChoice | Refusal): boolean {
  return !isRefusal(choice) || choice.code === 'context_length_exceeded' || choice.code === 'upstream_config_error';
}

/**
 * The same choice by what the input really is. It costs milliseconds of CPU, beside the event loop,
 * and so is made only before a refusal. `undefined`: nothing better is known than before.
 */
export async function chooseByCount(
  chat: ChatRequest,
  principal: Principal,
  config: GatewayConfig,
  boundTokens: BoundTokens,
): Promise<ChatWithModel | Refusal | undefined> {
  const tokenizer = config.models.get(chat.model)?.tokenizer ?? 'bytes';
  if (tokenizer === 'bytes' || chat.inputTokens.isCounted) return undefined;
  const text = await boundTokens(tokenizer, chat.promptTexts());
  if (text === undefined) return undefined;
  const counted = { ...chat, inputTokens: withText(chat.inputTokens, text) };
  const choice = checkModel(counted, principal, config);
  return isRefusal(choice) ? choice : { chat: counted, choice };
}

function withText(input: InputTokens, textTokens: number): InputTokens {
  const { besidesText, ceiling } = input;
  const counted = Math.min(ceiling, besidesText.ceiling + textTokens);
  const estimate = besidesText.estimate + textTokens;
  return { ...input, estimate, ceiling: counted, normalizedCeiling: counted, isCounted: true };
}
