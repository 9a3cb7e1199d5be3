import type { ReactNode } from 'react';
import type { OrganizationLimits, OwnSettings } from '#contract/organization.ts';
import type { Setting } from '#contract/setting.ts';
import { ORGANIZATION_SETTINGS, OWN_SETTINGS } from '#contract/shown-settings.ts';
import { present } from '#core/present.ts';
import { useAsk, useSend } from '../../api/queries.ts';
import { Card, Loaded, PageHeader, Skeleton } from '../../components/panels.tsx';
import { useToast } from '../../components/toast.tsx';
import { Facts, Muted } from '../../components/values.tsx';
import { formatCount, formatMoneyInFull } from '../../format/format.ts';
import { fieldsOf } from '../../forms/field.tsx';
import { Form } from '../../forms/form.tsx';
import { UnsavedChanges, usePageForm } from '../../forms/page-form.tsx';
import { SettingField } from '../../forms/setting-field.tsx';
import { useOrganization } from '../../shell/use-organization.tsx';

/** The settings of owners, and for everybody the limits that the operator has set. */
export function SettingsPage(): ReactNode {
  const isMember = useOrganization().role === 'member';
  const own = useAsk('GET /api/organizations/:organization/settings', {}, { enabled: !isMember });
  const view = useAsk('GET /api/organizations/:organization');
  return (
    <>
      <PageHeader
        title={isMember ? 'Limits' : 'Settings'}
        description={!isMember && 'Organization name, billing details and limits.'}
      />
      {!isMember && (
        <Loaded query={own} skeleton={<Skeleton height="520px" />}>
          {(settings) => <OwnForm initial={settings} />}
        </Loaded>
      )}
      <Loaded query={view} skeleton={<Skeleton height="260px" />}>
        {({ limits }) => <LimitsCard title={isMember ? undefined : 'Limits'} limits={limits} />}
      </Loaded>
    </>
  );
}

const NAMES = Object.keys(OWN_SETTINGS) as (keyof OwnSettings)[];

/** `initial`: the settings as fetched last. */
function OwnForm({ initial }: { readonly initial: OwnSettings }): ReactNode {
  const { draft, setDraft, isChanged, beginSave, onSaved } = usePageForm(OWN_SETTINGS, initial);
  const toast = useToast();
  const save = useSend('PATCH /api/organizations/:organization/settings', {
    onDone: (saved) => {
      onSaved(saved);
      toast({ tone: 'good', text: 'Saved' });
    },
  });
  const field = fieldsOf(draft, setDraft, save.error?.fields);
  return (
    <Card title="Organization">
      <Form onSubmit={() => save.mutate({ body: beginSave() })} sending={save} submit="Save">
        {NAMES.map((name) => (
          <SettingField key={name} of={OWN_SETTINGS[name]} {...field(name)} />
        ))}
      </Form>
      <UnsavedChanges isChanged={isChanged} />
    </Card>
  );
}

const { name: _, priceList: _list, ...LIMITS } = ORGANIZATION_SETTINGS;
type LimitName = keyof typeof LIMITS;

interface LimitsCardProps {
  readonly title: string | undefined;
  readonly limits: OrganizationLimits;
}

function LimitsCard({ title, limits }: LimitsCardProps): ReactNode {
  const facts = Object.fromEntries(
    Object.entries<Setting>(LIMITS).map(([name, limit]) => [limit.label, limitText(limit, limits[name as LimitName])]),
  );
  return (
    <Card {...present({ title })}>
      <Facts of={facts} />
      <p className="muted small">Shared by all keys. Set by your operator.</p>
    </Card>
  );
}

function limitText({ kind, none }: Setting, value: OrganizationLimits[LimitName]): ReactNode {
  if (value === undefined) return <Muted>{none}</Muted>;
  if (kind === 'yes-no') return value ? 'yes' : 'no';
  return kind === 'money' ? formatMoneyInFull(String(value)) : formatCount(Number(value));
}
