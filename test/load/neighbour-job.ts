/**
 * One kind of attack that a process of its own makes on the gateway: plain data, so that it travels
 * over IPC.
 */
export interface AttackJob {
  readonly attack: AttackName;
  readonly origin: string;
  readonly forMs: number;
  /** Keys of the attacking organization; most attacks use the first. */
  readonly keys: readonly string[];
}

/** How often the attacker saw each outcome: a status, or why a connection ended. */
export type AttackResult = Readonly<Record<string, number>>;

/** Refused requests come last: until their minute ends the organization is not heard. */
export const ATTACK_NAMES = [
  'held-bodies',
  'waiting-bodies',
  'escaped-keys',
  'cut-replays',
  'unread-answers',
  'thousand-keys',
  'connections',
  'one-byte-frames',
  'waiting-uploads',
  'large-heads',
  'unread-requests',
  'refused-requests',
] as const;

export type AttackName = (typeof ATTACK_NAMES)[number];
