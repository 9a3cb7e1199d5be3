import type { ChatRequest } from '../../chat/chat-request.ts';
import type { Evictable, MemoryReservation } from '../../shared-budget/shared-budget.ts';

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
export class RequestMemory implements Evictable {
  readonly #chat: ChatRequest;
  readonly #reservation: MemoryReservation;
  #isSent = false;
  #hasResponse = false;
  #isFree = false;

  constructor(chat: ChatRequest, reservation: MemoryReservation) {
    this.#chat = chat;
    this.#reservation = reservation;
  }

  /** Before each attempt. False: it is free, and there is none. */
  mayBeSent(): boolean {
    this.#isSent = false;
    return !this.#isFree && this.#reservation.pin();
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
  evict(): void {
    this.#isFree = true;
    this.#chat.keepText(0);
  }

  #letGo(): void {
    if (!this.#isSent || this.#reservation.heldBytes <= SMALL_BYTES) return;
    if (this.#hasResponse && !this.#isFree && this.#reservation.heldBytes > COUNTED_BYTES) {
      this.#isFree = true;
      this.#reservation.shrinkTo(this.#chat.keepText(COUNTED_BYTES));
    }
    this.#reservation.makeEvictable(this);
  }
}
