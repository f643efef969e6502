/* The first exchange on a port. Decides whether both ends speak the same bridge protocol. The answer is sent even when
   they do not, because it is the broker that refuses a mismatch with a code that the client understands; until then this
   end serves nothing. */
import type { FromExtension, HostHello } from '../contract/frames';
import { BRIDGE_PROTOCOL_VERSION, CAPABILITIES } from '../contract/protocol';

/** What this browser profile says about itself. */
export type Self = { version: string; instance: string };

export function answerTo(self: Self): FromExtension {
  return {
    type: 'extension_hello',
    bridge: BRIDGE_PROTOCOL_VERSION,
    extension: self.version,
    instance: self.instance,
    capabilities: [...CAPABILITIES],
  };
}

export function agrees(hello: HostHello): boolean {
  return hello.bridge === BRIDGE_PROTOCOL_VERSION;
}
