import type { ReactNode } from 'react';
import type { KeyView } from '#contract/keys.ts';
import type { ModelView } from '#contract/money.ts';
import { MAX_PLAY_TOKENS } from '#contract/playground.ts';
import { SelectField } from '../../forms/choices.tsx';
import { asField, fieldsOf } from '../../forms/field.tsx';
import { FormRow } from '../../forms/form.tsx';
import { NumberField, ParsedInput, TextAreaField } from '../../forms/inputs.tsx';
import { hasEnded, maskedKey, restrictionLabels } from '../../keys/key-labels.ts';
import { MODEL_STATES } from '../../models/model-labels.ts';

/** Values of the form. `undefined`: the box is empty. */
export interface PlayDraft {
  readonly system: string;
  readonly maxTokens: number | undefined;
  readonly temperature: number | undefined;
}

export const NEW_PLAY: PlayDraft = { system: '', maxTokens: 1_000, temperature: undefined };

export interface PlaySettingsProps {
  readonly models: readonly ModelView[];
  readonly keys: readonly KeyView[];
  readonly model: string;
  readonly likeKey: string | undefined;
  readonly draft: PlayDraft;
  readonly onModel: (model: string) => void;
  readonly onLikeKey: (key: string | undefined) => void;
  readonly onDraft: (draft: PlayDraft) => void;
}

const TemperatureField = asField(ParsedInput<number>);

export function PlaySettings(props: PlaySettingsProps): ReactNode {
  const { models, model, draft, onModel, onDraft } = props;
  const field = fieldsOf(draft, onDraft);
  return (
    <>
      <SelectField label="Model" required value={model} onChange={onModel} choices={models.map(choiceOf)} />
      <KeyField {...props} />
      <TextAreaField label="System message" hint="Sent before the conversation." {...field('system')} />
      <FormRow>
        <NumberField
          label="Output limit"
          required
          hint="max_tokens. The money for it is held while the request runs."
          {...field('maxTokens')}
          min={1}
          max={MAX_PLAY_TOKENS}
        />
        <TemperatureField
          label="Temperature"
          hint="From 0 to 2."
          {...field('temperature')}
          parse={parseTemperature}
          format={String}
          inputMode="decimal"
          placeholder="Of the model"
        />
      </FormRow>
    </>
  );
}

/** Restrictions that the key of a play takes over. */
function holdingRestrictions({
  monthlyBudgetNanoUsd: _month,
  lifetimeBudgetNanoUsd: _lifetime,
  expiresAtMs: _end,
  ...key
}: KeyView): readonly string[] {
  return restrictionLabels({ ...key, ipRanges: [] }, Date.now());
}

/** The restrictions of one of the organization's keys, so that its errors can be seen here. */
function KeyField({ keys, likeKey, onLikeKey }: PlaySettingsProps): ReactNode {
  const key = keys.find(({ id }) => id === likeKey);
  const words = key && holdingRestrictions(key).join(' · ');
  return (
    <SelectField
      label="Restrictions of a key"
      hint={
        key === undefined
          ? 'The request has a key of its own in any case.'
          : `${words || 'This key has none'}. Its addresses, expiry, longer budgets and spend do not count here.`
      }
      value={likeKey ?? ''}
      onChange={(value) => onLikeKey(value === '' ? undefined : value)}
      choices={[
        { value: '', label: 'None' },
        ...keys
          .filter((one) => !hasEnded(one))
          .map((one) => ({ value: one.id, label: `As ${one.name} (${maskedKey(one)})` })),
      ]}
    />
  );
}

function choiceOf({ id, state }: ModelView): { value: string; label: string } {
  return { value: id, label: state === 'available' ? id : `${id} (${MODEL_STATES[state].text.toLowerCase()})` };
}

function parseTemperature(text: string): { readonly value: number } | { readonly problem: string } {
  const value = /^\d(\.\d{1,4})?$/.test(text) ? Number(text) : Number.NaN;
  return value >= 0 && value <= 2 ? { value } : { problem: 'Enter a number from 0 to 2, such as 0.7.' };
}
