import assert from 'node:assert/strict';
import type { Reply, Service, TestClient, Visitor } from './service.ts';

export const CALLBACK = 'https://app.example/callback';

/** A developer at the dashboard, without script. */
export class Developer {
  readonly service: Service;
  readonly visitor: Visitor;

  constructor(service: Service, visitor: Visitor) {
    this.service = service;
    this.visitor = visitor;
  }

  static async arrive(service: Service): Promise<Developer> {
    return new Developer(service, await service.signedIn());
  }

  get(path: string): Promise<Reply> {
    return this.visitor.get(path);
  }

  /** Posts a form of the page at `path`; fields that are not named keep their values. */
  async submit(path: string, action: string, fields: Record<string, string> = {}): Promise<Reply> {
    const page = await this.get(path);
    assert.equal(page.status, 200, `${path} shows its page`);
    return this.visitor.post(action, { ...formFields(page.text, action), ...fields });
  }

  newApplication(fields: Record<string, string> = {}): Promise<Reply> {
    const path = '/dashboard/apps/new';
    return this.submit(path, path, { name: 'Photo Wall', redirect_uris: CALLBACK, ...fields });
  }

  /** Creates an application on the dashboard and reads its credentials from the page. */
  async createApplication(fields: Record<string, string> = {}): Promise<TestClient> {
    const shown = await this.newApplication(fields);
    assert.equal(shown.status, 200, shown.text);
    return {
      clientId: textOf(shown.text, 'client-id'),
      clientSecret: secretIn(shown),
      redirectUri: CALLBACK,
    };
  }

  async newSecret(client: TestClient): Promise<TestClient> {
    const path = pathOf(client);
    const shown = await this.submit(path, `${path}/secrets`);
    assert.equal(shown.status, 200);
    return { ...client, clientSecret: secretIn(shown) };
  }

  /** The path of the page that removes this secret. */
  async removalPath(client: TestClient): Promise<string> {
    const application = await this.service.app.store.applications.find(client.clientId);
    const secret = application?.secrets.find(({ tail }) => client.clientSecret.endsWith(tail));
    return `${pathOf(client)}/secrets/${secret!.id}/remove`;
  }

  async removeSecret(client: TestClient): Promise<Reply> {
    const path = await this.removalPath(client);
    return this.submit(path, path);
  }
}

export const pathOf = ({ clientId }: TestClient): string => `/dashboard/apps/${clientId}`;

/** Whether the client's credentials are accepted: revoking an unknown token has no other effect. */
export async function authenticates(service: Service, client: TestClient): Promise<boolean> {
  const { status, body } = await service.revoke(client, 'unknown');
  if (status === 200) return true;
  assert.deepEqual([status, body.error], [401, 'invalid_client']);
  return false;
}

export function secretIn(reply: Reply): string {
  const secret = textOf(reply.text, 'client-secret');
  assert.match(secret, /^postern_cs_[\w-]{43}$/);
  return secret;
}

/** The text of the element with this id. */
export function textOf(page: string, id: string): string {
  const match = new RegExp(` id="${id}"[^>]*>([\\s\\S]*?)</`).exec(page);
  assert.ok(match, `there is an element ${id}`);
  return unescaped(match[1]!.replaceAll(/<[^>]*>/g, ''));
}

/** Fields that a browser would post of the form with this action. */
export function formFields(page: string, action: string): Record<string, string> {
  const forms = [...page.matchAll(/<form[^>]* action="([^"]*)"[^>]*>([\s\S]*?)<\/form>/g)];
  const form = forms.find((match) => match[1] === action)?.[2];
  assert.ok(form !== undefined, `there is a form to ${action}`);
  const fields: Record<string, string> = {};
  for (const [tag] of form.matchAll(/<input[^>]*>/g)) {
    const attribute = (name: string) => new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1];
    if (attribute('type') === 'radio' && !/ checked[ >]/.test(tag)) continue;
    fields[attribute('name')!] = unescaped(attribute('value') ?? '');
  }
  for (const [, name, value] of form.matchAll(/<textarea[^>]* name="([^"]*)"[^>]*>([\s\S]*?)<\/textarea>/g))
    fields[name!] = unescaped(value!);
  return fields;
}

/** The errors shown at a field. */
export function errorsAt(page: string, field: string): string[] {
  const match = new RegExp(`<(span|ul) class="error" id="${field}-error">([\\s\\S]*?)</\\1>`).exec(page);
  if (!match) return [];
  const items = [...match[2]!.matchAll(/<li>([\s\S]*?)<\/li>/g)].map(([, text]) => text!);
  return (items.length > 0 ? items : [match[2]!]).map(unescaped);
}

const unescaped = (text: string): string =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
