#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "forebay/profile.h"
#include "pipeline/description.h"
#include "study/changes.h"

namespace forebay {

/// Returns the strategies to try, the most informative first: each place that admits a cache in
/// memory, then each on disk, then `files` if they can be tried, then compressed caches. Within
/// each kind, places after the most work come first.
std::vector<Strategy> strategies_for(const Description& description, bool files = false);

/// Returns the name of a strategy: "cache behind resize, on disk, zstd".
std::string strategy_name(const std::string& step, StrategyTier tier, const std::string& compression);

/// Returns the description with the cache of a strategy, over `samples` samples, spread over the
/// data set, or over all, with a budget of `bytes`. A cache on disk is in `folder`.
Changed for_trial(const Description& description, const Strategy& strategy, std::optional<int64_t> samples,
                  uint64_t bytes, const std::string& folder);
/// Returns the arguments of a strategy's cache as the user would write them, with a budget for all
/// samples. A cache on disk is in `folder`, if given.
Json written_cache_args(const Strategy& strategy, const std::string& folder = {});
/// Returns the description as the user would write it, with a budget for all samples. A cache on
/// disk is in `folder`, if given.
Changed as_written(const Description& description, const Strategy& strategy, const std::string& folder = {});

/// Adjusts a strategy whose cache holds only a part of the samples; the steps make the others in
/// each epoch.
void limit_to_room(Strategy& strategy, double room_bytes, const Estimate& rate_without);
/// Returns the rate if a share `fits` of the samples comes at rate `kept`, and the others at
/// `without`.
Estimate mixed_rate(double fits, const Estimate& kept, const Estimate& without);
/// Scores and sorts the strategies, marks those on the Pareto front, and computes after how
/// many epochs each has paid off. One of `strategies` caches nothing. Among those whose scores
/// differ from the best by less than `alike`, the one that takes the least space comes first, and
/// files, which have to be written in advance, come last.
void rank_strategies(std::vector<Strategy>& strategies, const ProfileWeights& weights, int64_t size,
                     double alike = 0.03);

}  // namespace forebay
