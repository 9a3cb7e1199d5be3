import { type ReactNode, useState } from 'react';
import type { CreatedKeyView, KeyView, ScopeName } from '#contract/keys.ts';
import { KEY_SETTINGS } from '#contract/shown-settings.ts';
import { MAX_LIST_LENGTH } from '#core/field-bounds.ts';
import { isIpRange } from '#core/net/ip-ranges.ts';
import { useAsk, useSend } from '../../api/queries.ts';
import { serverMs } from '../../api/server-clock.ts';
import { useFinish } from '../../components/toast.tsx';
import { briefSettings, formatCount, formatInstant, shortMoney } from '../../format/format.ts';
import { ChipsInput } from '../../forms/chips-input.tsx';
import { Checkbox, ChoiceGroup, SegmentedControl } from '../../forms/choices.tsx';
import { DateTimeField } from '../../forms/date-inputs.tsx';
import { changeOf, draftAfterSave, draftOf, valuesOf } from '../../forms/draft.ts';
import { asField, type BoundField, fieldsOf } from '../../forms/field.tsx';
import { FormRow, FormSection } from '../../forms/form.tsx';
import { FormDialog } from '../../forms/form-dialog.tsx';
import { MultiCombobox } from '../../forms/multi-combobox.tsx';
import { SettingField } from '../../forms/setting-field.tsx';
import { countLabel, SCOPE_LABELS } from '../../keys/key-labels.ts';
import { modelChoice } from '../../models/model-labels.ts';
import { EXPIRY_LABELS, type ExpiryChoice, expiryOf, type KeyDraft } from './key-draft.ts';
import styles from './keys.module.css';

interface CreateKeyDialogProps {
  /** Kept by the page, so that an accidentally closed dialog loses nothing. */
  readonly draft: KeyDraft;
  readonly onDraft: (draft: KeyDraft) => void;
  readonly onClose: () => void;
  readonly onCancel: () => void;
  readonly onCreated: (created: CreatedKeyView) => void;
}

export function CreateKeyDialog(props: CreateKeyDialogProps): ReactNode {
  const { draft, onDraft, onClose, onCancel, onCreated } = props;
  const create = useSend('POST /api/organizations/:organization/keys', {
    onDone: onCreated,
  });
  return (
    <FormDialog
      onClose={onClose}
      title="Create an API key"
      description="Use one key per application and environment, so you can limit, monitor and revoke each on its own."
      submit="Create key"
      sending={create}
      onCancel={onCancel}
      onSubmit={() => create.mutate({ body: valuesOf(KEY_SETTINGS, draft) })}
    >
      <KeyFields draft={draft} onDraft={onDraft} problems={create.error?.fields} />
    </FormDialog>
  );
}

export interface KeyDialogProps {
  /** The key when the dialog was opened. */
  readonly of: KeyView;
  readonly onClose: () => void;
}

export function EditKeyDialog({ of: key, onClose }: KeyDialogProps): ReactNode {
  const finish = useFinish(onClose);
  const [draft, onDraft] = useState(() => draftOf(KEY_SETTINGS, key));
  const list = useAsk('GET /api/organizations/:organization/keys');
  const edit = useSend('PATCH /api/organizations/:organization/keys/:key', {
    onDone: ({ name }) => finish(`Key “${name}” changed. The change applies to the next request.`),
  });
  const submit = () => {
    // Lists keep what others have added or removed since the dialog was opened.
    const saved = list.data?.keys.find(({ id }) => id === key.id) ?? key;
    const wanted = draftAfterSave(KEY_SETTINGS, saved, draftOf(KEY_SETTINGS, key), draft);
    // An unchanged limit above the organization's is accepted.
    const body = changeOf(KEY_SETTINGS, saved, wanted);
    if (Object.keys(body).length === 0) return onClose();
    edit.mutate({ params: { key: key.id }, body });
  };
  return (
    <FormDialog
      onClose={onClose}
      title={`Edit “${key.name}”`}
      description="Changes apply from the next request."
      submit="Save changes"
      sending={edit}
      onSubmit={submit}
    >
      <KeyFields draft={draft} onDraft={onDraft} problems={edit.error?.fields} />
    </FormDialog>
  );
}

const SCOPES = Object.keys(SCOPE_LABELS) as ScopeName[];
const ModelsField = asField(MultiCombobox);
const AddressesField = asField(ChipsInput);

interface KeyFieldsProps {
  readonly draft: KeyDraft;
  readonly onDraft: (draft: KeyDraft) => void;
  readonly problems: Readonly<Record<string, string>> | undefined;
}

/** All settings of a key: common ones first, restrictions in sections below. */
function KeyFields({ draft, onDraft, problems = {} }: KeyFieldsProps): ReactNode {
  const field = fieldsOf(draft, onDraft, problems);
  const { scopes = [] } = draft;
  const shared = { draft, field, problems };
  return (
    <>
      <SettingField of={KEY_SETTINGS.name} {...field('name')} />
      <SettingField of={KEY_SETTINGS.note} {...field('note')} />
      <ChoiceGroup label="Scopes">
        {SCOPES.map((scope) => (
          <Checkbox
            key={scope}
            label={SCOPE_LABELS[scope].title}
            hint={SCOPE_LABELS[scope].means}
            value={scopes.includes(scope)}
            onChange={(checked) =>
              field('scopes').onChange(SCOPES.filter((one) => (one === scope ? checked : scopes.includes(one))))
            }
          />
        ))}
        {problems.scopes && (
          <div role="alert" className="bad small">
            {problems.scopes}
          </div>
        )}
      </ChoiceGroup>
      <div>
        <h3 className={styles.heading}>Restrictions</h3>
        <div className={styles.restrictions}>
          <AccessSections {...shared} />
          <LimitSection {...shared} />
        </div>
      </div>
    </>
  );
}

interface SectionProps extends Pick<KeyFieldsProps, 'draft'> {
  readonly problems: Readonly<Record<string, string>>;
  readonly field: ReturnType<typeof fieldsOf<KeyDraft>>;
}

/** What the key may use, from which addresses, and until when. */
function AccessSections({ draft, field, problems }: SectionProps): ReactNode {
  const { data: available } = useAsk('GET /api/organizations/:organization/models');
  const { models = [], ipRanges = [], expiresAtMs } = draft;
  return (
    <>
      <FormSection
        title="Models"
        summary={countLabel(models, 'models') ?? 'All models'}
        hasProblem={problems.models !== undefined}
      >
        <ModelsField
          {...field('models')}
          label="Allowed models"
          hint={KEY_SETTINGS.models.hint}
          choices={available?.models.map(modelChoice) ?? []}
          placeholder="Search models"
        />
      </FormSection>
      <FormSection
        title="Addresses"
        summary={countLabel(ipRanges, 'addresses') ?? 'Any address'}
        hasProblem={problems.ipRanges !== undefined}
      >
        <AddressesField
          {...field('ipRanges')}
          label="Allowed addresses"
          hint={KEY_SETTINGS.ipRanges.hint}
          validate={(text) =>
            isIpRange(text) ? undefined : `${text} is neither an address nor a range like 10.0.0.0/8.`
          }
          max={MAX_LIST_LENGTH}
          placeholder="203.0.113.7 or 10.0.0.0/8"
        />
      </FormSection>
      <FormSection
        title="Expiry"
        summary={expiresAtMs === undefined ? 'Never' : formatInstant(expiresAtMs)}
        hasProblem={problems.expiresAtMs !== undefined}
      >
        <ExpiryFields {...field('expiresAtMs')} initial={expiresAtMs === undefined ? 'never' : 'custom'} />
      </FormSection>
    </>
  );
}

/** Limits, bounded by the organization's once those are loaded. */
function LimitSection({ draft, field, problems }: SectionProps): ReactNode {
  const { data } = useAsk('GET /api/organizations/:organization');
  const limited = (
    name: 'requestsPerMinute' | 'tokensPerMinute' | 'dailyBudgetNanoUsd',
    format: (limit: never) => string,
  ) => {
    const limit = data?.limits[name];
    const hint = `Organization: ${limit === undefined ? 'no limit' : format(limit as never)}`;
    return <SettingField of={KEY_SETTINGS[name]} {...field(name)} max={limit ?? KEY_SETTINGS[name].max} hint={hint} />;
  };
  return (
    <FormSection
      title="Limits"
      summary={briefSettings(KEY_SETTINGS, draft).join(' · ') || 'Same as the organization'}
      hasProblem={Object.keys(problems).some((name) => KEY_SETTINGS[name as keyof KeyDraft]?.brief !== undefined)}
    >
      <FormRow>
        {limited('requestsPerMinute', formatCount)}
        {limited('tokensPerMinute', formatCount)}
      </FormRow>
      <FormRow>
        {limited('dailyBudgetNanoUsd', (budget) => `${shortMoney(budget)} a day`)}
        <SettingField of={KEY_SETTINGS.monthlyBudgetNanoUsd} {...field('monthlyBudgetNanoUsd')} />
        <SettingField of={KEY_SETTINGS.lifetimeBudgetNanoUsd} {...field('lifetimeBudgetNanoUsd')} />
      </FormRow>
      <p className="muted">
        Daily budgets reset at 00:00 UTC, monthly ones on the first of the month, lifetime budgets never. If empty, only
        the organization's limits apply.
      </p>
    </FormSection>
  );
}

interface ExpiryFieldsProps extends BoundField<number | undefined> {
  readonly initial: ExpiryChoice;
}

/** Expiry of a key: never, in some days, or at a chosen moment. */
export function ExpiryFields({ initial, value: expiresAtMs, onChange, error }: ExpiryFieldsProps): ReactNode {
  const [choice, setChoice] = useState(initial);
  return (
    <>
      <SegmentedControl
        label="Expires"
        value={choice}
        choices={EXPIRY_LABELS}
        onChange={(next) => {
          setChoice(next);
          // A custom expiry starts at the moment that was chosen before.
          if (next !== 'custom' || expiresAtMs === undefined) onChange(expiryOf(next, serverMs()));
        }}
      />
      {choice === 'custom' ? (
        <DateTimeField label="Expires at" required value={expiresAtMs} onChange={onChange} error={error} />
      ) : (
        <p className="muted">
          {expiresAtMs === undefined
            ? 'The key works until it is revoked.'
            : `From ${formatInstant(expiresAtMs)} on, requests get key_expired.`}
        </p>
      )}
    </>
  );
}
