import type { GatewayConfig } from '#core/config/gateway-config.ts';
import { isRefusal, type Refusal } from '#core/errors/refusal.ts';
import type { Principal } from '#core/principal.ts';
import type { BoundTokens } from '#core/tokenizer.ts';
import type { Steps } from '../fairness/steps.ts';
import type { ChatRequest } from './chat-request.ts';
import { checkModel, isLengthOpen, type ModelChoice } from './check-model.ts';
import type { InputTokens } from './tokens/input-tokens.ts';

export interface ChatWithModel {
  readonly chat: ChatRequest;
  readonly choice: ModelChoice;
}

/**
 * No count is below half of the estimate (token-bounds.test.ts). If the estimate is beyond the
 * window times this factor, the count would be beyond the window too, and is not made.
 */
const ESTIMATE_AT_MOST_TIMES = 2;

/** Runs work in turns with that of other organizations. `undefined`: the client left. */
export type InTurns = <Result>(steps: Steps<Result>) => Result | undefined | Promise<Result | undefined>;

/**
 * As checkModel(), but the input is counted before it is refused for its length, if the model's
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
  if (!isRefusal(choice)) return { chat: withFileCeiling(chat, choice), choice };
  const window = model?.contextWindow ?? 0;
  const estimate = chat.inputTokens.inputs?.longest ?? chat.inputTokens.estimate;
  if (choice.code !== 'context_length_exceeded' || estimate > ESTIMATE_AT_MOST_TIMES * window) return choice;
  return (await chooseByCount(chat, principal, config, boundTokens)) ?? choice;
}

/** True if the request passed every check before the one of its length. */
function reachedLength(choice: ModelChoice | Refusal): boolean {
  return !isRefusal(choice) || choice.code === 'context_length_exceeded' || choice.code === 'upstream_config_error';
}

/**
 * Chooses again with the counted input. A count costs milliseconds of CPU on another thread, so it
 * is made only before a refusal. `undefined`: there is no count.
 */
export async function chooseByCount(
  chat: ChatRequest,
  principal: Principal,
  config: GatewayConfig,
  boundTokens: BoundTokens,
): Promise<ChatWithModel | Refusal | undefined> {
  const inputTokens = await countInput(chat, principal, config, boundTokens);
  if (inputTokens === undefined) return undefined;
  const counted = { ...chat, inputTokens };
  const choice = checkModel(counted, principal, config);
  return isRefusal(choice) ? choice : { chat: withFileCeiling(counted, choice), choice };
}

/** `undefined`: the model's tokenizer is unknown, or the input was counted before. */
export async function countInput(
  chat: ChatRequest,
  { organization }: Principal,
  config: GatewayConfig,
  boundTokens: BoundTokens,
): Promise<InputTokens | undefined> {
  const tokenizer = config.models.get(chat.model)?.tokenizer ?? 'bytes';
  if (tokenizer === 'bytes' || chat.inputTokens.isCounted) return undefined;
  const texts = await boundTokens(tokenizer, chat.promptTexts(), organization.id);
  return texts === undefined ? undefined : withTexts(chat.inputTokens, texts);
}

/**
 * Only a provider counts files, so a prompt with files may be the longest that the provider reads.
 * That ceiling is not added to the ceiling of the text, because it includes the text.
 */
function withFileCeiling(chat: ChatRequest, { model }: ModelChoice): ChatRequest {
  if (chat.fileParam === undefined) return chat;
  const { inputTokens } = chat;
  const fileCeiling = model.longestPrompt ?? model.contextWindow;
  const ceiling = Math.max(inputTokens.ceiling, fileCeiling);
  const normalizedCeiling = Math.max(inputTokens.normalizedCeiling, fileCeiling);
  return { ...chat, inputTokens: { ...inputTokens, ceiling, normalizedCeiling, fileCeiling } };
}

function withTexts(input: InputTokens, texts: readonly number[]): InputTokens {
  const { besidesText, ceiling, inputs } = input;
  const textTokens = texts.reduce((sum, tokens) => sum + tokens, 0);
  const counted = Math.min(ceiling, besidesText.ceiling + textTokens);
  const estimate = besidesText.estimate + textTokens;
  // Inputs are either all texts or all tokens.
  const longest = texts.length === 0 ? {} : { longest: Math.max(...texts) };
  return {
    ...input,
    ...(inputs === undefined ? {} : { inputs: { ...inputs, ...longest } }),
    ...{ estimate, ceiling: counted, normalizedCeiling: counted, isCounted: true },
  };
}
