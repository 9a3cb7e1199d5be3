import type { ReactNode } from 'react';
import type { Setting } from '#contract/setting.ts';
import { Checkbox } from './choices.tsx';
import { MoneyField, NumberField, TextField } from './inputs.tsx';

export interface SettingFieldProps extends Partial<Pick<Setting, 'hint'>> {
  readonly of: Setting;
  readonly value: unknown;
  /** A method, so that its type is compatible with values of every setting. */
  onChange(value: unknown): void;
  readonly error: string | undefined;
  /** Bound that another record sets. Money is in nano-dollars. */
  readonly max?: number | string | undefined;
}

/** The control for a setting: `<SettingField of={KEY_SETTINGS.name} {...field('name')} />`. */
export function SettingField({ of: setting, value, max = setting.max, ...bound }: SettingFieldProps): ReactNode {
  const { kind, label, none, placeholder } = setting;
  const shared = { label, hint: setting.hint, placeholder, ...bound };
  switch (kind) {
    case 'text':
      return (
        <TextField
          {...shared}
          required={none === undefined}
          value={(value as string | undefined) ?? ''}
          maxLength={setting.max}
          autoComplete="off"
        />
      );
    case 'count':
      return (
        <NumberField
          {...shared}
          value={value as number | undefined}
          min={1}
          {...(max !== undefined && { max: Number(max) })}
        />
      );
    case 'money':
      return (
        <MoneyField
          {...shared}
          value={value as string | undefined}
          allowZero
          {...(max !== undefined && { max: String(max) })}
        />
      );
    case 'yes-no':
      return <Checkbox {...shared} value={value === true} />;
    case 'choice':
    case 'list':
    case 'instant':
      return null;
  }
}
