import type { Change, Setting } from '#contract/setting.ts';
import { MAX_COUNT } from '#core/field-bounds.ts';
import { formatUsd, usdJson } from '#core/money.ts';
import { present } from '#core/present.ts';
import type { FlagSpec } from './arguments.ts';
import type { ValueReader } from './flag-values.ts';

/** The settings of a record. Those with a `flag` are numbers, amounts, and yes or no. */
type Settings = Readonly<Record<string, Setting>>;

export function settingFlags(settings: Settings): readonly FlagSpec[] {
  return withFlag(settings).map(({ flag, kind }) => {
    if (kind === 'yes-no') return { name: flag };
    return { name: flag, value: kind === 'money' ? 'USD' : 'N' };
  });
}

/** Reads the given flags. `none` removes a setting, or sets it to its default. */
export function readSettingFlags<Values>(settings: Settings, values: ValueReader): Change<Values> {
  const read = withFlag(settings).map(({ name, ...setting }) => {
    const value = readSetting(setting, values);
    return [name, value === null ? (setting.default ?? null) : value];
  });
  return present(Object.fromEntries(read)) as Change<Values>;
}

function readSetting({ flag, kind, max = MAX_COUNT }: Setting & { readonly flag: string }, values: ValueReader) {
  if (kind === 'yes-no') return values.isOn(flag);
  return kind === 'money' ? values.budget(flag) : values.count(flag, max);
}

/** Members named like the flags. Absent values are null, amounts are USD. */
export function settingsJson(settings: Settings, record: object): Readonly<Record<string, unknown>> {
  const members = withFlag(settings).map(({ name, flag }) => {
    const value: unknown = Reflect.get(record, name);
    return [flag.replaceAll('-', '_'), typeof value === 'bigint' ? usdJson(value) : (value ?? null)];
  });
  return Object.fromEntries(members);
}

/** Labels and values for people to read. */
export function settingLines(settings: Settings, record: object): readonly (readonly [string, string])[] {
  return withFlag(settings).map(({ name, label, flagLabel }) => [
    flagLabel ?? label.toLowerCase(),
    settingText(Reflect.get(record, name)),
  ]);
}

function settingText(value: unknown): string {
  if (value === undefined) return 'no limit';
  if (typeof value === 'boolean') return value ? 'allowed' : 'not allowed';
  return typeof value === 'bigint' ? `${formatUsd(value)} USD` : String(value);
}

function withFlag(settings: Settings) {
  return Object.entries(settings).flatMap(([name, { flag, ...setting }]) =>
    flag === undefined ? [] : [{ name, flag, ...setting }],
  );
}
