#pragma once

#include <cstdint>

#include "store/store.h"

namespace forebay {

/// Returns the status of a failed read. An object that was refused because it is longer than its
/// reader has set aside becomes larger_than_set_aside(); other failures stay as they are.
Status read_failure(const ReadRequest& request, const Status& failure);

/// Returns the range of an object of `size` bytes that a request asks for. Corrupt if the object is
/// not as the request expects; OutOfBudget if the reader cannot set aside enough memory for it.
Result<ByteRange> resolve_range(const ReadRequest& request, uint64_t size);

/// Returns the error "changed: the listing said 10 bytes, now 7".
Status size_changed(uint64_t expected, uint64_t now);

/// Ensures that the reader of an object of unknown size has set aside `bytes`: calls
/// ReadRequest::set_aside if it has not. Returns false if so much memory is not available.
bool ensure_set_aside(const ReadRequest& request, uint64_t bytes);

/// Returns OutOfBudget, with `size` as the bytes needed.
Status larger_than_set_aside(uint64_t set_aside, uint64_t size);

}  // namespace forebay
