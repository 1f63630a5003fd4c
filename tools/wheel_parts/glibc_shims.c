/* What the newer libstdc++ expects of glibc and the oldest supported one lacks. Linked into every program and shared object, with
 * libstdc++ itself (toolchain.py); hidden, so that nobody else gets these.
 *
 * arc4random(), GLIBC_2.36: the default source of std::random_device.
 * __libc_single_threaded, GLIBC_2.32: where true, counters of std::shared_ptr are not atomic. It is never true here.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN char __libc_single_threaded = 0;

HIDDEN uint32_t arc4random(void) {
  uint32_t number;
  /* Up to 256 bytes are given at once, and not interrupted, once the kernel has gathered entropy. */
  while (getrandom(&number, sizeof number, 0) != sizeof number) {
    if (errno != EINTR) abort(); /* as glibc does */
  }
  return number;
}
