import { hiddenFields } from './service.ts';

type Seen = { readonly url: URL; readonly status: number; readonly text: string };

/** A browser that follows redirects between sites and keeps cookies per site. */
export class Person {
  readonly #cookies = new Map<string, Map<string, string>>();

  open(url: string | URL): Promise<Seen> {
    return this.#go(new URL(url), { method: 'GET' });
  }

  /** Posts the page's form with this `action`. */
  submit(page: Seen, action: string, fields: Record<string, string> = {}): Promise<Seen> {
    const form = new RegExp(`<form[^>]*action="${action}"[\\s\\S]*?</form>`).exec(page.text)?.[0];
    if (form === undefined) throw new Error(`no form to ${action} on ${page.url}:\n${page.text}`);
    const body = new URLSearchParams({ ...hiddenFields(form), ...fields });
    return this.#go(new URL(action, page.url), { method: 'POST', body });
  }

  async #go(url: URL, init: RequestInit): Promise<Seen> {
    const jar = this.#cookies.get(url.origin) ?? new Map<string, string>();
    this.#cookies.set(url.origin, jar);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, { ...init, headers: { cookie }, redirect: 'manual' });
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
      jar.set(name!, value!);
    }
    const location = response.headers.get('location');
    if (location !== null) return this.#go(new URL(location, url), { method: 'GET' });
    return { url, status: response.status, text: await response.text() };
  }
}
