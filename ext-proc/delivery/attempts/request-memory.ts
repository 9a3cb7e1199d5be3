import type { ChatRequest } from '../../chat/chat-request.ts';
import type { Room, Yielding } from '../../shared-budget/shared-budget.ts';

/**
 * Up to this a body is left alone until its request has ended: most are, and freeing them would
 * cost more than it brings.
 */
const SMALL_BYTES = 16 * 1024;

/**
 * So much of a longer prompt is counted where its provider reports no usage, some 65,000 tokens;
 * the rest is estimated.
 */
const COUNTED_BYTES = 256 * 1024;

/**
 * The client's body while providers are asked: freed when no further attempt can need it, given up
 * for others when only one might.
 */
export class RequestMemory implements Yielding {
  readonly #chat: ChatRequest;
  readonly #room: Room;
  #isSent = false;
  #hasResponse = false;
  #isFree = false;

  constructor(chat: ChatRequest, room: Room) {
    this.#chat = chat;
    this.#room = room;
  }

  /** Before each attempt. False: it is free, and there is none. */
  mayBeSent(): boolean {
    this.#isSent = false;
    return !this.#isFree && this.#room.stays();
  }

  /** All of it has left this process. */
  sent(): void {
    this.#isSent = true;
    this.#letGo();
  }

  /** A provider's answer is passed on, so that no other one is asked. */
  answered(): void {
    this.#hasResponse = true;
    this.#letGo();
  }

  /** Its memory is wanted. Of the prompt the estimate remains. */
  giveUp(): void {
    this.#isFree = true;
    this.#chat.keepText(0);
  }

  #letGo(): void {
    if (!this.#isSent || this.#room.heldBytes <= SMALL_BYTES) return;
    if (this.#hasResponse && !this.#isFree && this.#room.heldBytes > COUNTED_BYTES) {
      this.#isFree = true;
      this.#room.shrinkTo(this.#chat.keepText(COUNTED_BYTES));
    }
    this.#room.yields(this);
  }
}
