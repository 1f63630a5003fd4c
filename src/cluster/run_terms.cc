#include "cluster/run_terms.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cluster/message.h"

namespace forebay {

namespace {

// Service "run", response, version 2.
constexpr std::string_view kRunResponse = "fbrunrs2";

constexpr size_t kMostChanges = 64;  // a rank that is further behind is not compared by its older ones

Status mismatch(const std::string& text) {
  return {Code::kStateMismatch, text + "; make the same call on all ranks, at the same position"};
}

// Compares the changes that both have made.
Status check_made(int rank, const RunChanges& own, const RunChanges& leader) {
  const uint64_t end = std::min(own.count(), leader.count());
  for (uint64_t number = std::max(own.dropped, leader.dropped); number < end; ++number) {
    const std::string& mine = own.last[number - own.dropped].text;
    const std::string& of_leader = leader.last[number - leader.dropped].text;
    if (mine != of_leader)
      return mismatch(
          fmt::format("rank {} has made another change than rank 0: {} (rank 0: {})", rank, mine, of_leader));
  }
  return {};
}

// The first change that was made on one of the two ranks and not on the other one, which is behind
// its position; null if there is none.
const RunChanges::Change* missed_change(const RunChanges& made, const RunChanges& other) {
  if (other.count() >= made.count() || other.count() < made.dropped) return nullptr;
  const RunChanges::Change& next = made.last[other.count() - made.dropped];
  return other.position > next.position ? &next : nullptr;
}

Status check_changes(int rank, const RunChanges& own, const RunChanges& leader) {
  FOREBAY_RETURN_IF_ERROR(check_made(rank, own, leader));
  if (own.jumps != leader.jumps) return {};  // one of them is about to move, so positions say nothing
  if (const RunChanges::Change* const missed = missed_change(own, leader))
    return mismatch(fmt::format("rank 0 went on without a change that rank {} has made: {}", rank, missed->text));
  if (const RunChanges::Change* const missed = missed_change(leader, own))
    return mismatch(fmt::format("rank {} went on without a change that rank 0 has made: {}", rank, missed->text));
  return {};
}

void put(const RunChanges& changes, MessageFields& out) {
  out.put_all(uint8_t{changes.possible}, changes.jumps, changes.position, changes.dropped);
  out.put(static_cast<uint32_t>(changes.last.size()));
  for (const RunChanges::Change& change : changes.last) {
    out.put(change.position);
    out.put_text(change.text);
  }
}

RunChanges take_changes(ByteReader& in) {
  RunChanges changes;
  changes.possible = in.take<uint8_t>() != 0;
  changes.jumps = in.take<uint64_t>();
  changes.position = in.take<int64_t>();
  changes.dropped = in.take<uint64_t>();
  const auto count = in.take<uint32_t>();
  while (in.ok() && changes.last.size() < count) {
    const auto position = in.take<int64_t>();
    changes.last.push_back({position, in.take_text()});
  }
  return changes;
}

}  // namespace

void RunChanges::add(std::string text) {
  last.push_back({position, std::move(text)});
  if (last.size() <= kMostChanges) return;
  last.pop_front();
  ++dropped;
}

Status RunTerms::check_same(int rank, const RunTerms& leader) const {
  std::string differs, advice;
  for (const Term& own : terms) {
    const auto found = std::ranges::find(leader.terms, own.name, &Term::name);
    if (found == leader.terms.end()) continue;  // rank 0 has another version
    if (found->value == own.value) continue;
    differs += fmt::format("{}{}={} (rank 0: {})", differs.empty() ? "" : ", ", own.name, own.value, found->value);
    if (advice.empty() && !own.advice.empty()) advice = "; " + own.advice;
  }
  if (differs.empty()) return check_changes(rank, changes, leader.changes);
  return {Code::kStateMismatch,
          fmt::format("rank {} has other settings than rank 0: {}; give all ranks the same{}", rank, differs, advice)};
}

Buffer encode_run(const std::optional<RunTerms>& terms) {
  MessageFields out(kRunResponse);
  out.put(uint8_t{terms.has_value()});
  if (terms) {
    put(terms->changes, out);
    for (const RunTerms::Term& term : terms->terms) {
      out.put_text(term.name);
      out.put_text(term.value);
    }
  }
  return out.done();
}

Result<std::optional<RunTerms>> parse_run(std::span<const uint8_t> bytes) {
  FOREBAY_ASSIGN(const std::string_view fields, read_fields(bytes, kRunResponse));
  ByteReader in(fields);
  const bool is_set = in.take<uint8_t>() != 0;
  RunTerms terms;
  if (is_set) terms.changes = take_changes(in);
  while (is_set && in.left() > 0) {
    std::string name = in.take_text();
    terms.terms.push_back({std::move(name), in.take_text()});
  }
  FOREBAY_RETURN_IF_ERROR(check_all_read(in));
  return is_set ? std::optional(std::move(terms)) : std::nullopt;
}

}  // namespace forebay
