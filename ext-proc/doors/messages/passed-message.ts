import type { Envelope } from '#core/errors/refusal.ts';
import { isObject, type JsonObject, parseObject } from '#core/json-object.ts';
import { editObject, type MemberEdits } from '../../dialects/json-members.ts';
import { hidingWithin } from '../../dialects/shown-members.ts';
import type { ChargedUsage, PassedStream, ResponseNames } from '../door.ts';
import { eachEvent, passedEvent, sentEvent } from '../events.ts';
import { editedWithin, passedEdits } from '../passed-edits.ts';
import { endOf, failureEvents } from './message-object.ts';
import { messageUsage, shownUsage } from './usage.ts';

export function passedMessage(message: JsonObject, names: ResponseNames): MemberEdits {
  return passedEdits(message, 'content', names);
}

/** Passes on the events of a provider that speaks Messages. Most of them are not changed. */
export class PassedMessageStream implements PassedStream {
  readonly #names: ResponseNames;
  /** Data of the event that says how the message ended. */
  #last: string | undefined;
  #hasBegun = false;
  #hasCalls = false;
  /** True if the last event was passed on unchanged. Events that continue it can be, too. */
  #isAsItCame = false;

  constructor(names: ResponseNames) {
    this.#names = names;
  }

  get keptCharacters(): number {
    return this.#last?.length ?? 0;
  }

  event(type: string, data: string): string {
    const event = parseObject(data);
    this.#isAsItCame = false;
    if (event === undefined) return '';
    const named = typeof event.type === 'string' ? event.type : type;
    switch (named) {
      case 'message_start':
        return isObject(event.message) ? this.#begun(data, event, event.message) : '';
      case 'message_delta':
        // Some servers send the usage in an event of its own.
        if (this.#last === undefined || (isObject(event.delta) && event.delta.stop_reason)) this.#last = data;
        return '';
      case 'content_block_start':
        this.#hasCalls ||= isObject(event.content_block) && event.content_block.type === 'tool_use';
        return this.#shown(named, { type, event, data });
      case 'content_block_delta':
      case 'content_block_stop':
      case 'ping':
        return this.#shown(named, { type, event, data });
      default:
        return '';
    }
  }

  several(text: string): string {
    return this.#isAsItCame ? text : eachEvent(text, (type, data) => this.event(type, data));
  }

  ended(charged: ChargedUsage): string {
    return this.#lastDelta(messageUsage(charged)) + sentEvent('message_stop');
  }

  failed(error: Envelope['error'], charged: ChargedUsage | undefined): string {
    return failureEvents(error, this.#names, this.#hasBegun ? charged : undefined);
  }

  #lastDelta(usage: JsonObject): string {
    const data = this.#last;
    if (data === undefined) {
      const delta = endOf(undefined, { refusal: '', hasCalls: this.#hasCalls });
      return sentEvent('message_delta', { delta, usage });
    }
    const hidden = hidingWithin(parseObject(data) ?? {}, ['delta']);
    return passedEvent('message_delta', editObject(data, { ...hidden, usage: JSON.stringify(usage) }));
  }

  #begun(data: string, event: JsonObject, message: JsonObject): string {
    this.#hasBegun = true;
    const usage = JSON.stringify(isObject(message.usage) ? shownUsage(message.usage) : {});
    const edits = { ...passedMessage(message, this.#names), usage };
    return passedEvent('message_start', editedWithin(data, event, 'message', edits));
  }

  /** The event without members that are not for the client. */
  #shown(named: string, { type, event, data }: { type: string; event: JsonObject; data: string }): string {
    const edits = hidingWithin(event, ['content_block', 'delta']);
    this.#isAsItCame = edits === undefined && named === type;
    return passedEvent(named, edits ? editObject(data, edits) : data);
  }
}
