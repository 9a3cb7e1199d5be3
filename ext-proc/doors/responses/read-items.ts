import { isObject, type JsonObject } from '#core/json-object.ts';
import { reasoningDetail } from '../../dialects/responses/reasoning-details.ts';
import { type InvalidField, invalid, type MessagePlace } from '../door.ts';
import { eachElement, givenMembers, isGiven } from '../given-members.ts';
import { carriedIn, isCarried } from './carried-reasoning.ts';
import { readContent } from './read-content.ts';
import { type ChatTools, nameWithin } from './read-tools.ts';

/** An assistant's message that is being built from its items. */
interface OpenMessage {
  readonly message: JsonObject;
  /** Content of each of its items. The contents are joined once, at the end. */
  readonly contents: unknown[];
  readonly calls: JsonObject[];
  readonly details: JsonObject[];
  readonly callPlaces: string[];
  readonly place: MessagePlace;
}

/** Translates input items to messages. A turn's reasoning, text and calls become one message. */
export class ChatMessages {
  readonly messages: JsonObject[] = [];
  readonly places: MessagePlace[] = [];
  /** True if some reasoning is of a target with another API, or could not be checked. */
  hasOtherReasoning = false;
  readonly #tools: ChatTools;
  #open: OpenMessage | undefined;

  constructor(tools: ChatTools) {
    this.#tools = tools;
  }

  addText(role: string, content: unknown, place: string): void {
    this.#push({ role, content }, { message: place, content: place, calls: [] });
  }

  add(items: readonly unknown[]): InvalidField | undefined {
    const refused = eachElement(items, 'input', (item, place) => this.#addItem(item, place));
    this.#close();
    return refused;
  }

  #addItem(item: JsonObject, place: string): InvalidField | undefined {
    // Both a message and a reference may leave out their type, or write null.
    switch (item.type ?? (isGiven(item.role) || !isGiven(item.id) ? 'message' : 'item_reference')) {
      case 'message':
        return this.#addMessage(item, place);
      case 'reasoning':
        return this.#addReasoning(item, place);
      case 'function_call':
        return this.#addCall(item, 'function', place);
      case 'custom_tool_call':
        return this.#addCall(item, 'custom', place);
      case 'function_call_output':
      case 'custom_tool_call_output':
        return this.#addOutput(item, place);
      case 'additional_tools':
        return this.#tools.add(item.tools, `${place}.tools`);
      case 'item_reference':
        return invalid(
          place,
          'refers to an item that is not stored here; send the item itself (AI SDK: set `store: false`)',
        );
      default:
        return invalid(`${place}.type`, 'is not offered: no model here has tools of a provider');
    }
  }

  #addMessage(item: JsonObject, place: string): InvalidField | undefined {
    const { type: _, id: __, status: ___, role, content, phase, ...rest } = item;
    if (typeof role !== 'string' || !ROLES.has(role))
      return invalid(`${place}.role`, `must be one of ${[...ROLES].join(', ')}`);
    const read = readContent(content, `${place}.content`);
    if (read.kind === 'invalid') return read;
    const said = { ...rest, role, content: read.content, ...(typeof phase === 'string' ? { phase } : {}) };
    if (role !== 'assistant') {
      this.#close();
      this.#push(said, { message: place, content: `${place}.content`, calls: [] });
      return undefined;
    }
    if (this.#open && this.#open.contents.length > 0 && this.#open.calls.length === 0) this.#close();
    const { message, contents } = this.#opened(place);
    const { content: spoken, ...more } = said;
    contents.push(spoken);
    for (const [name, value] of Object.entries(more)) if (name !== '__proto__') message[name] = value;
    return undefined;
  }

  #addReasoning(item: JsonObject, place: string): undefined {
    const { message, contents, details, calls } = this.#opened(place);
    const { encrypted_content: encrypted, content, summary } = item;
    if (!isCarried(encrypted)) {
      // Without encrypted content a provider may look up the id among the operator's own items.
      if (typeof encrypted !== 'string' || encrypted === '' || !isOf([], content) || !isOf(['summary_text'], summary))
        this.hasOtherReasoning = true;
      const index = details.length + Number(contents.length > 0) + calls.length;
      const detail = reasoningDetail(item, index);
      if (detail !== undefined) details.push(detail);
      return;
    }
    this.hasOtherReasoning = true;
    const carried = carriedIn(encrypted);
    details.push(...carried.details);
    if (carried.text !== '') message.reasoning_content = `${message.reasoning_content ?? ''}${carried.text}`;
  }

  #addCall(item: JsonObject, type: 'function' | 'custom', place: string): InvalidField | undefined {
    const { call_id: id, name, namespace } = item;
    if (typeof id !== 'string') return invalid(`${place}.call_id`, 'must be a string');
    const open = this.#opened(place);
    const called = typeof namespace === 'string' && typeof name === 'string' ? nameWithin(namespace, name) : name;
    const given = type === 'function' ? { arguments: item.arguments } : { input: item.input };
    open.calls.push({ id, type, [type]: { name: called, ...given } });
    open.callPlaces.push(place);
    return undefined;
  }

  #addOutput({ call_id: id, output }: JsonObject, place: string): InvalidField | undefined {
    if (typeof id !== 'string') return invalid(`${place}.call_id`, 'must be a string');
    const read = readContent(output, `${place}.output`);
    if (read.kind === 'invalid') return read;
    this.#close();
    this.#push(
      { role: 'tool', tool_call_id: id, content: read.content },
      { message: place, content: `${place}.output`, calls: [] },
    );
    return undefined;
  }

  #opened(place: string): OpenMessage {
    if (this.#open !== undefined) return this.#open;
    const callPlaces: string[] = [];
    const open = {
      ...{ message: { role: 'assistant' } as JsonObject, contents: [], calls: [], details: [], callPlaces },
      place: { message: place, content: `${place}.content`, calls: callPlaces },
    };
    this.#open = open;
    return open;
  }

  /** Drops reasoning that nothing follows: the turn was broken off, and providers refuse it. */
  #close(): void {
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined || (open.contents.length === 0 && open.calls.length === 0)) return;
    const more = givenMembers({
      content: joined(open.contents),
      tool_calls: open.calls.length > 0 ? open.calls : undefined,
      reasoning_details: open.details.length > 0 ? open.details : undefined,
    });
    this.#push({ ...open.message, ...more }, open.place);
  }

  #push(message: JsonObject, place: MessagePlace): void {
    this.messages.push(message);
    this.places.push(place);
  }
}

/** True if all parts have one of these types. */
function isOf(types: readonly unknown[], parts: unknown): boolean {
  if (!Array.isArray(parts)) return !isGiven(parts);
  return parts.every((part) => isObject(part) && types.includes(part.type));
}

const ROLES: ReadonlySet<string> = new Set(['system', 'developer', 'user', 'assistant']);

/** Joins the contents of the items of one turn. */
function joined(contents: readonly unknown[]): unknown {
  if (contents.length < 2) return contents[0];
  if (contents.every((content) => typeof content === 'string')) return contents.join('\n\n');
  return contents.flatMap((one) => (Array.isArray(one) ? (one as unknown[]) : [{ type: 'text', text: one }]));
}
