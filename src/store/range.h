#pragma once

#include <cstdint>

#include "store/store.h"

namespace forebay {

/// What a read that failed answers: an object that was refused as too long for what its reader set aside is
/// larger_than_set_aside(), all else stays as it is.
Status read_failure(const ReadRequest& request, const Status& failure);

/// The part of an object of `size` bytes that a request means; Corrupt where the object is not what the request
/// expects, OutOfBudget where the reader has set aside too little for it.
Result<ByteRange> resolve_range(const ReadRequest& request, uint64_t size);

/// "changed: the listing said 10 bytes, now 7".
Status size_changed(uint64_t expected, uint64_t now);

/// Whether what the reader of an object of unknown size has set aside is so much, now that it could set aside more.
bool fits_set_aside(const ReadRequest& request, uint64_t bytes);

/// OutOfBudget, with `size` as what is needed.
Status larger_than_set_aside(uint64_t set_aside, uint64_t size);

}  // namespace forebay
