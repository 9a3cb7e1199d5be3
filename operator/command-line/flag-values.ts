import { normalizeEmail } from '#core/email-address.ts';
import { isModelId, MAX_LIST_LENGTH, MAX_NAME_CHARACTERS, PRICE_LIST_NAME } from '#core/field-bounds.ts';
import { MAX_AMOUNT_NANO_USD, type NanoUsd, parseUsd } from '#core/money.ts';
import { isIpRange } from '#core/net/ip-ranges.ts';
import { SCOPES, type Scope } from '#core/principal.ts';
import { hidesSomething, showsSomething } from '#core/visible-text.ts';
import { SWITCH_ON } from './arguments.ts';

const AMOUNT_FORM = `an amount in USD such as 12.5, up to ${MAX_AMOUNT_NANO_USD / 1_000_000_000n}, with at most 9 decimals`;

export type ValueReader = ReturnType<typeof createValueReader>;

/**
 * Reads values of flags and arguments, within the bounds of the database. Wrong values are
 * collected and reported together. `undefined`: the flag was not given. `null`: it was given as
 * `none`, to clear a setting.
 */
export function createValueReader(flags: ReadonlyMap<string, string>) {
  const problems: string[] = [];

  function read<T>(flag: string, form: string, parse: (text: string) => T | undefined): T | undefined {
    const text = flags.get(flag);
    if (text === undefined) return undefined;
    const value = parse(text);
    if (value === undefined) problems.push(`--${flag} takes ${form}, not ${JSON.stringify(text)}.`);
    return value;
  }

  const orNone =
    <T>(parse: (text: string) => T | undefined) =>
    (text: string): T | null | undefined =>
      text === 'none' ? null : parse(text);
  const list =
    (isItem: (item: string) => boolean) =>
    (text: string): readonly string[] | undefined => {
      const items = [...new Set(text.split(',').map((item) => item.trim()))];
      return items.length <= MAX_LIST_LENGTH && items.every(isItem) ? items : undefined;
    };

  return {
    problems: problems as readonly string[],
    name: (flag: string) => read(flag, textForm(MAX_NAME_CHARACTERS), (text) => plainText(text, MAX_NAME_CHARACTERS)),
    text: (flag: string, maxLength: number) => read(flag, textForm(maxLength), (text) => plainText(text, maxLength)),
    count: (flag: string, max: number) =>
      read(
        flag,
        `a whole number from 1 to ${max}, or none`,
        orNone((text) => parseCount(text, max)),
      ),
    budget: (flag: string) =>
      read(
        flag,
        `${AMOUNT_FORM}, not negative, or none`,
        orNone((text) => notNegative(parseUsd(text))),
      ),
    credit: (flag: string) => read(flag, `${AMOUNT_FORM}, not negative`, (text) => notNegative(parseUsd(text))),
    isOn: (flag: string) =>
      read(flag, 'nothing or none', (text) => (text === SWITCH_ON ? true : text === 'none' ? false : undefined)),
    /** Reads the flag with `readFlag`, unless it is `none`, which clears the setting. */
    orNone: <T>(flag: string, readFlag: (flag: string) => T): T | null =>
      flags.get(flag) === 'none' ? null : readFlag(flag),
    scopes: (flag: string) => read(flag, `one or both of ${SCOPES.join(',')}`, list(isScope))?.filter(isScope),
    models: (flag: string) => read(flag, `up to ${MAX_LIST_LENGTH} model ids, separated by commas`, list(isModelId)),
    ipRanges: (flag: string) =>
      read(
        flag,
        `up to ${MAX_LIST_LENGTH} addresses or CIDRs such as 10.0.0.0/8, separated by commas`,
        list(isIpRange),
      ),
    priceList: (flag: string) =>
      read<string | null>(flag, 'the name of a price list of the configuration, or none', (text) =>
        text === 'none' ? null : PRICE_LIST_NAME.test(text) ? text : undefined,
      ),
    moment: (flag: string) => read(flag, 'a date or time such as 2027-01-31 or 2027-01-31T18:00:00Z', parseMoment),
    email: (flag: string) => read(flag, 'an e-mail address', normalizeEmail),
    oneOf: <C extends string>(flag: string, choices: readonly C[]) =>
      read(flag, choices.join(' or '), (text) => choices.find((choice) => choice === text)),
  };
}

/** Amount of `org credit`. A negative amount is a correction. */
export function parseCredit(text: string): NanoUsd | string {
  const amount = parseUsd(text);
  return amount === undefined || amount === 0n
    ? `USD takes ${AMOUNT_FORM}, not zero; not ${JSON.stringify(text)}.`
    : amount;
}

function textForm(maxLength: number): string {
  return `1 to ${maxLength} visible characters`;
}

function plainText(text: string, maxLength: number): string | undefined {
  const trimmed = text.trim();
  return trimmed.length <= maxLength && showsSomething(trimmed) && !hidesSomething(trimmed) ? trimmed : undefined;
}

function parseCount(text: string, max: number): number | undefined {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : 0;
  return value >= 1 && value <= max ? value : undefined;
}

function notNegative(amount: NanoUsd | undefined): NanoUsd | undefined {
  return amount === undefined || amount < 0n ? undefined : amount;
}

function isScope(text: string): text is Scope {
  return (SCOPES as readonly string[]).includes(text);
}

const MOMENT = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/;

/** A date without a time is the start of that UTC day. */
function parseMoment(text: string): number | undefined {
  const [, date = ''] = MOMENT.exec(text) ?? [];
  const day = Date.parse(date);
  const moment = Date.parse(text);
  // JavaScript parses February 30 as March 2.
  if (date === '' || Number.isNaN(moment) || new Date(day).toISOString().slice(0, 10) !== date) return undefined;
  return moment;
}
