import { TOKEN_KINDS, TOKEN_NAMES, type TokenKind } from '#core/price-kinds.ts';
import { NO_USAGE, type TokenUsage } from '#core/pricing.ts';

const SHOWN = Object.entries(TOKEN_KINDS).flatMap(([kind, { shownAs }]) =>
  shownAs === undefined ? [] : [[kind as TokenKind, shownAs] as const],
);

/** The kinds of tokens under their names in responses of the API. */
export function tokenFigures(usage: TokenUsage): Readonly<Record<string, number>> {
  return Object.fromEntries(SHOWN.map(([kind, name]) => [name, usage[kind]]));
}

export class UsageSums {
  readonly usage: Record<keyof TokenUsage, number> = { ...NO_USAGE };

  add(usage: TokenUsage): void {
    for (const kind of TOKEN_NAMES) this.usage[kind] += usage[kind];
  }
}
