#pragma once

#include <concepts>
#include <exception>
#include <new>

#include "forebay/c.h"
#include "forebay/status.h"

namespace forebay::capi {

/// Records a failure as the last one of this thread and returns its code. A success returns FB_OK
/// and leaves the last failure unchanged.
fb_code record_failure(const Status& status) noexcept;

/// Runs the body of a function of the interface, which returns a status or a code. Exceptions
/// become failures.
template <typename Call>
fb_code guarded(Call&& call) noexcept {
  try {
    if constexpr (std::same_as<decltype(call()), Status>) {
      return record_failure(call());
    } else {
      return call();
    }
  } catch (const std::bad_alloc&) {
    return record_failure(out_of_budget("the machine has no memory left", 0));
  } catch (const std::exception& error) {
    return record_failure(internal_error(error.what()));
  } catch (...) {
    return record_failure(internal_error("an exception of a kind that is not known"));
  }
}

/// Copies the members that both the caller and this library know of a struct that begins with
/// `size_t struct_size`. `struct_size` itself stays unchanged. Structs grow at their end, so the
/// caller's struct must be at least as long as the first version (`first_version` bytes).
Status copy_struct(const char* name, size_t first_version, const void* from, size_t size, void* to);

}  // namespace forebay::capi
