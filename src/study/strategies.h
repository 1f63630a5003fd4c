#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "forebay/profile.h"
#include "pipeline/description.h"
#include "study/changes.h"

namespace forebay {

/// What is worth trying, what tells most first: each place where a cache may stand in memory, then each on disk, then `files` where they
/// can be tried, then compressed, those behind most work first.
std::vector<Strategy> strategies_for(const Description& description, bool files = false);

/// With that strategy, a cache, over so many samples, spread over the data set, or all, and room for so many bytes; what is on disk stands in
/// `folder`.
Changed for_trial(const Description& description, const Strategy& strategy, std::optional<int64_t> samples,
                  uint64_t bytes, const std::string& folder);
/// As the user would write it, with room for all samples where there is as much. A cache on disk stands in `folder`, if one is given.
Changed as_written(const Description& description, const Strategy& strategy, const std::string& folder = {});

/// With room for a part of the samples alone, the others are made as before.
void leave_room(Strategy& strategy, double room_bytes, const Estimate& rate_without);
/// The speed where a share `fits` of the samples comes at `kept`, and the others as without.
Estimate mixed_rate(double fits, const Estimate& kept, const Estimate& without);
/// Scores, and the order by them; which ones no other beats; after how many epochs each has paid. `strategies` has one that keeps nothing.
/// Among those whose score is alike within `alike` the one that takes least room comes first, behind it files: they have to be written before.
void judge(std::vector<Strategy>& strategies, const ProfileWeights& weights, int64_t size, double alike = 0.03);

}  // namespace forebay
