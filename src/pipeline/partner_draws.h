#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "pipeline/selection.h"
#include "plan/order.h"

namespace forebay {

/// The draws of the parts of a zip that have draws of their own: noise that comes anew with each
/// recording. Such a part is drawn once for each draw of the other parts, over all their passes, so
/// which of its samples comes is a pure function of pass and place. Immutable; may be used from any
/// thread.
class PartnerDraws {
 public:
  struct Part {
    std::shared_ptr<const Order> order;  ///< of its draws, which is not empty
    std::shared_ptr<const Selection> selection;
    int64_t stride = 1;  ///< of its number in the ids of joined samples; see JoinedPart
  };

  /// `draws`: those of the other parts in a pass.
  PartnerDraws(int64_t draws, std::vector<Part> parts);

  /// The id of the joined sample that has sample `id` of the other parts, drawn at `place` of
  /// `pass`. All draws before it are fewer than 2^63.
  int64_t joined(int64_t id, int64_t pass, int64_t place) const;

 private:
  const int64_t draws_;
  const std::vector<Part> parts_;
};

}  // namespace forebay
