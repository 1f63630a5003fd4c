#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "plan/order.h"

namespace forebay {

/// The samples of all classes, class by class and by id, the same in every epoch: a line for
/// drawn_order(). `class_of`: the class of each id, from 0 on; below 0: the sample is left out, and
/// has no position. A class has at least one sample. `chunk_rows`: rows of each chunk, as BlockwiseOptions::chunk_rows. The samples
/// of a class in a chunk are read together.
std::unique_ptr<Order> class_line(std::vector<int32_t> class_of, const std::vector<int64_t>& chunk_rows);

}  // namespace forebay
