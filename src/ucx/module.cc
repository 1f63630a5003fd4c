#include "base/active_messages.h"
#include "ucx/ucx_end.h"

/// What load_active_messages() looks for. The number changes whenever base/active_messages.h does, so that a module of another build
/// is refused instead of misread.
extern "C" __attribute__((visibility("default"))) const forebay::ActiveMessageModule* forebay_ucx_active_messages_v1() {
  static const forebay::ActiveMessageModule module{
      [](forebay::ActiveMessageOptions options) -> forebay::Result<std::unique_ptr<forebay::ActiveMessages>> {
        FOREBAY_ASSIGN(std::unique_ptr<forebay::UcxEnd> end, forebay::UcxEnd::open(std::move(options)));
        return std::unique_ptr<forebay::ActiveMessages>(std::move(end));
      }};
  return &module;
}
