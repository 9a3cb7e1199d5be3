import type { GatewayConfig } from '../config/gateway-config.ts';
import type { ChatRequest, InputTokens } from '../domain/chat-request.ts';
import type { Principal } from '../domain/principal.ts';
import type { BoundTokens } from '../domain/tokenizer.ts';
import { isRefusal, type Refusal } from '../errors/refusal.ts';
import { checkModel, type ModelChoice } from './check-model.ts';

/** A request whose model and output limit are decided. */
export interface ChosenChat {
  readonly chat: ChatRequest;
  readonly choice: ModelChoice;
}

/** Further above the window than this no count brings an estimate below it (token-bounds.test.ts). */
const ESTIMATE_AT_MOST_TIMES = 2;

/** `checkModel`, but input is counted before it is refused for being too long, where the model's tokenizer is known. */
export async function chooseModel(
  chat: ChatRequest,
  principal: Principal,
  config: GatewayConfig,
  boundTokens: BoundTokens,
): Promise<ChosenChat | Refusal> {
  const choice = checkModel(chat, principal, config);
  if (!isRefusal(choice)) return { chat, choice };
  const window = config.models.get(chat.model)?.contextWindow ?? 0;
  if (choice.code !== 'context_length_exceeded' || chat.inputTokens.estimate > ESTIMATE_AT_MOST_TIMES * window)
    return choice;
  return (await chooseByCount(chat, principal, config, boundTokens)) ?? choice;
}

/**
 * The same choice by what the input really is. It costs milliseconds of CPU, beside the event loop, and so is made only before a refusal.
 * `undefined`: nothing better is known than before.
 */
export async function chooseByCount(
  chat: ChatRequest,
  principal: Principal,
  config: GatewayConfig,
  boundTokens: BoundTokens,
): Promise<ChosenChat | Refusal | undefined> {
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
