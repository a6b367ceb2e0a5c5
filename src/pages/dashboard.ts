import { type Html, html } from './html.ts';
import { type Frame, shellLayout } from './layout.ts';
import { emptyState, moment, notice } from './parts.ts';

type DashboardProps = {
  readonly frame: Frame;
  readonly done?: string | undefined;
  readonly applications: readonly {
    readonly clientId: string;
    readonly name: string;
    readonly disabled: boolean;
    readonly createdAt: number;
    readonly liveSecrets: number;
  }[];
};

/** A developer's own applications. */
export function dashboardPage({ frame, done, applications }: DashboardProps): Html {
  const create = html`<a class="button primary" href="/dashboard/apps/new">New application</a>`;
  return shellLayout(
    'Applications',
    'dashboard',
    frame,
    applications.length === 0
      ? html`<h1>Applications</h1>
${done && notice('success', done)}
<section class="panel">${emptyState(
          'No applications yet',
          'Register an application to let people sign in to it with their account here. You get a client ID and a client secret for the OAuth 2.0 code flow.',
          create,
        )}</section>`
      : html`<div class="row spread"><h1>Applications</h1>${create}</div>
${done && notice('success', done)}
<ul class="list panel">
${applications.map(item)}</ul>`,
  );
}

function item(application: DashboardProps['applications'][number]): Html {
  const { clientId, name, disabled, createdAt, liveSecrets } = application;
  return html`<li class="stack tight">
<div class="row"><h2><a href="/dashboard/apps/${clientId}">${name}</a></h2>${stateBadge(disabled)}</div>
<div class="row tight small muted"><span class="mono">${clientId}</span><span>${liveSecrets === 1 ? '1 live secret' : `${liveSecrets} live secrets`}</span><span>Created ${moment(createdAt)}</span></div>
</li>
`;
}

export const stateBadge = (disabled: boolean): Html =>
  disabled
    ? html`<span class="badge warning">Disabled</span>`
    : html`<span class="badge success">Active</span>`;
