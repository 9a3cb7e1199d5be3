/** An attack on the gateway for the attacking process. Plain data, which is sent over IPC. */
export interface AttackJob {
  readonly attack: AttackName;
  readonly origin: string;
  readonly forMs: number;
  /** Keys of the attacking organization. Most attacks use only the first. */
  readonly keys: readonly string[];
}

/** Number of each outcome that the attacker saw: a status, or why a connection ended. */
export type AttackResult = Readonly<Record<string, number>>;

/** Refused requests come last, because they block the organization until the minute ends. */
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
