#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "format/files/listing_boundaries.h"
#include "store/store.h"

namespace forebay {

/// Which listings a walk asks for next: folder by folder, small ones page after page, and large ones, where the store can be
/// listed in ranges, in many parts at once. Knows no threads and no clock: one call at a time.
///
/// Parts divide a folder's names without gap or overlap, so what is found does not depend on where the cuts are. They are guessed
/// from the pages that came (split_points()), or known from an earlier walk.
class ListingPlan {
 public:
  /// One folder, or a part of it, page after page.
  struct Part {
    ListRequest request;
    uint64_t pages = 0;
    bool cut_out = false;  ///< of a folder that is known to be large
  };
  using OnPage = std::function<void(const std::string& folder, ListPage& page)>;

  ListingPlan(const ListingTraits& traits, Boundaries known, const std::string& prefix);

  /// What to ask for now; nothing where that must wait for an answer, or all was asked for.
  std::optional<Part> next();
  /// The answer to a part that next() gave. `on_page` may drop folders that should not be entered.
  void take(Part part, ListPage& page, const OnPage& on_page);
  /// In place of take(): there was an error.
  void give_up() { --in_flight_; }
  size_t in_flight() const { return in_flight_; }
  bool done() const { return in_flight_ == 0 && waiting_.empty(); }

  uint64_t entries() const { return entries_; }
  Boundaries boundaries() { return std::move(recorder_).boundaries(); }

 private:
  void enter(const std::string& folder);
  void cut(Part& part, const std::vector<std::string>& points);
  void record(const std::string& folder, const ListPage& page);
  size_t room() const;

  const ListingTraits traits_;
  const Boundaries known_;
  std::deque<Part> waiting_;
  size_t in_flight_ = 0;
  uint64_t entries_ = 0;
  BoundaryRecorder recorder_;
};

}  // namespace forebay
