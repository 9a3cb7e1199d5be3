import { isObject, type JsonObject } from '#core/json-object.ts';
import { callArguments } from '../../dialects/anthropic/call-input.ts';
import { redactedDetail, thinkingDetail } from '../../dialects/anthropic/thinking-details.ts';
import { WholeMessage } from '../../dialects/chat-message.ts';
import { asContent } from '../../dialects/content-of-texts.ts';
import { type InvalidField, invalid, type MessagePlace } from '../door.ts';
import { eachElement, isElement, isGiven, NOT_AN_ELEMENT } from '../given-members.ts';
import { carriedIn, isCarried } from '../responses/carried-reasoning.ts';
import { ASKED_EFFORTS } from './effort.ts';
import { type PlacedBlock, placedBlocks, readParts, textPart } from './read-content.ts';
import type { ChatTools } from './read-tools.ts';

/** Turns of a conversation as messages of chat. */
export class ChatMessages {
  readonly messages: JsonObject[] = [];
  readonly places: MessagePlace[] = [];
  /** Deferred tools that the conversation has loaded. */
  readonly referenced = new Set<unknown>();
  /** True if thinking is of a target with another API, or a setting of a turn was not checked. */
  hasUnread = false;

  add(turns: readonly unknown[], tools: ChatTools): InvalidField | undefined {
    return eachElement(turns, 'messages', (turn, place) => this.#addTurn(turn, place, tools));
  }

  addSystemPrompt(system: unknown): InvalidField | undefined {
    if (!isGiven(system) || system === '') return undefined;
    if (typeof system !== 'string' && !Array.isArray(system))
      return invalid('system', 'must be a string or an array of text blocks');
    const blocks = typeof system === 'string' ? [{ type: 'text', text: system }] : system;
    const other = blocks.findIndex((block) => !isObject(block) || block.type !== 'text');
    return other === -1
      ? this.#addSystem(placedBlocks(blocks, 'system'), 'system')
      : invalid(`system[${other}].type`, 'must be text');
  }

  #addSystem(blocks: readonly PlacedBlock[], place: string): InvalidField | undefined {
    const read = readParts(blocks);
    if (read.kind === 'invalid') return read;
    if (read.parts.length === 0) return undefined;
    this.#push(
      { role: 'system', content: asContent(read.parts) },
      { message: place, content: place, parts: read.places, calls: [] },
    );
    return undefined;
  }

  #addTurn({ role, content, output_config }: JsonObject, place: string, tools: ChatTools): InvalidField | undefined {
    const at = `${place}.content`;
    this.hasUnread ||= !isEffortAlone(output_config);
    if (role !== 'user' && role !== 'assistant' && role !== 'system')
      return invalid(`${place}.role`, 'must be user or assistant');
    if (typeof content === 'string') {
      this.#push({ role, content }, { message: place, content: at, calls: [] });
      return undefined;
    }
    if (!Array.isArray(content)) return invalid(at, 'must be a string or an array of content blocks');
    if (role === 'assistant') return this.#addAssistant(content, place);
    return role === 'system' ? this.#addSystemTurn(content, at, tools) : this.#addUser(content, at);
  }

  /** Tool results become messages of their own, before the user's message. */
  #addUser(blocks: readonly unknown[], at: string): InvalidField | undefined {
    if (blocks.length === 0) return invalid(at, 'must not be empty');
    const said: PlacedBlock[] = [];
    for (const [block, place] of placedBlocks(blocks, at)) {
      const isResult = isObject(block) && block.type === 'tool_result';
      const refused = isResult ? this.#addResult(block, place) : void said.push([block, place]);
      if (refused) return refused;
    }
    const read = readParts(said);
    if (read.kind === 'invalid') return read;
    const { parts, places } = read;
    if (parts.length === 0) return undefined;
    const content = parts.length === 1 ? asContent(parts) : parts;
    this.#push({ role: 'user', content }, { message: at, content: at, parts: places, calls: [] });
    return undefined;
  }

  #addResult(block: JsonObject, place: string): InvalidField | undefined {
    const { tool_use_id: id, content, is_error: isError, cache_control } = block;
    if (typeof id !== 'string') return invalid(`${place}.tool_use_id`, 'must be a string');
    const blocks = content ?? [];
    if (typeof blocks !== 'string' && !Array.isArray(blocks))
      return invalid(`${place}.content`, 'must be a string or an array of content blocks');
    const list = typeof blocks === 'string' ? [{ type: 'text', text: blocks }] : blocks;
    for (const one of list) if (isObject(one) && one.type === 'tool_reference') this.referenced.add(one.tool_name);
    const read = readParts(placedBlocks(list, `${place}.content`));
    if (read.kind === 'invalid') return read;
    const parts = isError === true ? [...read.parts, FAILED] : read.parts;
    const marker = isObject(cache_control) ? { cache_control } : {};
    this.#push(
      { role: 'tool', tool_call_id: id, content: asContent(parts), ...marker },
      { message: place, content: `${place}.content`, parts: read.places, calls: [] },
    );
    return undefined;
  }

  /** A system turn within the conversation. It may add tools. */
  #addSystemTurn(blocks: readonly unknown[], at: string, tools: ChatTools): InvalidField | undefined {
    const texts: PlacedBlock[] = [];
    for (const [block, place] of placedBlocks(blocks, at)) {
      if (!isObject(block) || (block.type !== 'tool_addition' && block.type !== 'tool_removal')) {
        texts.push([block, place]);
        continue;
      }
      const { type, definition, name }: JsonObject = isObject(block.tool) ? block.tool : {};
      if (block.type === 'tool_addition' && type === 'tool_reference') this.referenced.add(name);
      if (block.type !== 'tool_addition' || type !== 'tool_definition') continue;
      const defined = `${place}.tool.definition`;
      const refused = isElement(definition) ? tools.addTool(definition, defined) : invalid(defined, NOT_AN_ELEMENT);
      if (refused) return refused;
    }
    return this.#addSystem(texts, at);
  }

  #addAssistant(blocks: readonly unknown[], place: string): InvalidField | undefined {
    const turn = new AssistantTurn();
    const refused = eachElement(blocks, `${place}.content`, (block, at) => turn.take(block, at));
    if (refused) return refused;
    this.hasUnread ||= turn.hasCarried;
    const message = turn.message();
    if (message !== undefined)
      this.#push(message, { message: place, content: `${place}.content`, parts: turn.parts, calls: turn.calls });
    return undefined;
  }

  #push(message: JsonObject, place: MessagePlace): void {
    this.messages.push(message);
    this.places.push(place);
  }
}

/** True if a turn sets at most the effort, which Claude Code repeats there. Chat has only one. */
function isEffortAlone(setting: unknown): boolean {
  if (setting === undefined || setting === null) return true;
  return isObject(setting) && Object.keys(setting).join() === 'effort' && ASKED_EFFORTS.has(setting.effort);
}

/** Chat cannot mark a result as failed. This is the last part, so the others keep their index. */
const FAILED: JsonObject = { type: 'text', text: 'The tool reports an error.' };

/** Builds one message from the blocks of an assistant's turn. */
class AssistantTurn {
  hasCarried = false;
  readonly parts: string[] = [];
  readonly calls: string[] = [];
  readonly #message = new WholeMessage();
  readonly #items = this.#message.items;
  readonly #texts: JsonObject[] = [];

  take(block: JsonObject, place: string): InvalidField | undefined {
    switch (block.type) {
      case 'text':
        this.#items.hasText = true;
        this.#texts.push(textPart(withoutType(block)));
        this.parts.push(place);
        return undefined;
      case 'thinking':
        this.#takeThinking(block);
        return undefined;
      case 'redacted_thinking':
        return void this.#message.addDetail(redactedDetail(block.data, this.#items.count));
      case 'tool_use':
        return this.#takeCall(block, place);
      default:
        return invalid(`${place}.type`, 'is not offered: no model here has tools of a provider');
    }
  }

  #takeThinking({ thinking, signature }: JsonObject): void {
    if (!isCarried(signature)) {
      this.#message.addDetail(thinkingDetail(thinking, signature, this.#items.count));
      return;
    }
    this.hasCarried = true;
    const { details, text } = carriedIn(signature);
    for (const detail of details) this.#message.addDetail(detail);
    this.#message.addReasoning(text);
  }

  #takeCall(block: JsonObject, place: string): InvalidField | undefined {
    const { id, name, cache_control } = block;
    if (typeof id !== 'string') return invalid(`${place}.id`, 'must be a string');
    if (!isObject(block.input)) return invalid(`${place}.input`, 'must be an object');
    const marker = isObject(cache_control) ? { cache_control } : {};
    this.#message.addCall({ id, type: 'function', function: { name, arguments: callArguments(block) }, ...marker });
    this.calls.push(place);
    return undefined;
  }

  /** `undefined`: the turn was broken off and has only thinking. */
  message(): JsonObject | undefined {
    if (this.#texts.length === 0 && this.#items.calls === 0) return undefined;
    return this.#message.message(this.#texts.length === 0 ? {} : { content: asContent(this.#texts) });
  }
}

function withoutType({ type: _, ...members }: JsonObject): JsonObject {
  return members;
}
