#pragma once

#include <concepts>
#include <exception>
#include <new>

#include "forebay/c.h"
#include "forebay/status.h"

namespace forebay::capi {

/// Notes the failure as the last one of this thread; its code. A success is FB_OK, and leaves the last failure as it is.
fb_code told(const Status& status) noexcept;

/// Runs what a function of the interface does, which returns a status or a code. No exception leaves it.
template <typename Call>
fb_code guarded(Call&& call) noexcept {
  try {
    if constexpr (std::same_as<decltype(call()), Status>) {
      return told(call());
    } else {
      return call();
    }
  } catch (const std::bad_alloc&) {
    return told(out_of_budget("the machine has no memory left", 0));
  } catch (const std::exception& error) {
    return told(internal_error(error.what()));
  } catch (...) {
    return told(internal_error("an exception of a kind that is not known"));
  }
}

/// Copies what both the caller and this library know of a struct that begins with `size_t struct_size`, which stays as it was. Structs grow at their
/// end: the caller's is at least as long as the first version of it.
Status copy_struct(const char* name, size_t first_version, const void* from, size_t size, void* to);

}  // namespace forebay::capi
