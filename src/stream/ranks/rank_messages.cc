#include "stream/ranks/rank_messages.h"

#include <climits>
#include <type_traits>
#include <utility>

namespace forebay {

namespace {

constexpr std::string_view kRankRequest = "fbstrrq1", kLeaderResponse = "fbstrld1", kRankItems = "fbstrit1";

template <typename... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};

Status no_request() { return corrupt("a message of a rank asks for nothing that ranks have"); }
Status no_leader_response() { return corrupt("a message of rank 0 says nothing of what comes next"); }

// Memory grows with the bytes that are there, not with the count in the message.
template <typename T, typename Take>
std::vector<T> take_list(ByteReader& in, Take take) {
  std::vector<T> list;
  for (auto count = in.take<uint32_t>(); count > 0 && in.ok(); --count) list.push_back(take(in));
  return list;
}

template <typename T, typename Put>
void put_list(ByteWriter& out, const std::vector<T>& list, Put put) {
  out.put(static_cast<uint32_t>(list.size()));
  for (const T& each : list) put(each);
}

// Alternatives are numbered in the order of the variant.
template <typename Variant, size_t I = 0, typename Take>
bool take_alternative(size_t index, Variant& into, Take take) {
  if constexpr (I < std::variant_size_v<Variant>) {
    if (index != I) return take_alternative<Variant, I + 1>(index, into, take);
    into = take(std::in_place_type<std::variant_alternative_t<I, Variant>>);
    return true;
  } else {
    return false;
  }
}

size_t items_of(const RankRequest& request) {
  if (const auto* records = std::get_if<RecordsWanted>(&request.what)) return records->numbers.size();
  if (const auto* notes = std::get_if<NotesWanted>(&request.what)) return notes->places.size();
  const auto* rows = std::get_if<RowsWanted>(&request.what);
  return rows == nullptr ? 0 : rows->rows.size();
}

}  // namespace

Buffer encode_rank_request(const RankRequest& request) {
  MessageFields out(kRankRequest);
  out.put(static_cast<uint8_t>(request.what.index()));
  out.put(static_cast<uint32_t>(request.rank));
  out.put(request.run);
  const auto put_notes = [&](const NotesPlace& place) {
    out.put(static_cast<uint32_t>(place.partition));
    out.put(place.from);
  };
  const auto put_row = [&](const SharedRow& row) {
    out.put(static_cast<uint32_t>(row.partition));
    out.put(row.offset_hash);
  };
  std::visit(Overloaded{[&](const DecisionWanted& decision) { out.put(decision.first); }, [](const BeginningWanted&) {},
                        [](const SignOfLife&) {}, [](const Goodbye&) {},
                        [&](const RecordsWanted& records) {
                          put_list(out, records.numbers, [&](int64_t number) { out.put(number); });
                        },
                        [&](const NotesWanted& notes) { put_list(out, notes.places, put_notes); },
                        [&](const RowsWanted& rows) { put_list(out, rows.rows, put_row); }},
             request.what);
  return out.done();
}

Result<RankRequest> parse_rank_request(std::span<const uint8_t> bytes) {
  FOREBAY_ASSIGN(const std::string_view fields, read_fields(bytes, kRankRequest));
  ByteReader in(fields);
  const auto what = in.take<uint8_t>();
  const auto rank = in.take<uint32_t>();
  RankRequest request{static_cast<int>(rank), in.take<uint64_t>(), {}};
  const auto take =
      Overloaded{[&](std::in_place_type_t<DecisionWanted>) { return DecisionWanted{in.take<int64_t>()}; },
                 [](std::in_place_type_t<BeginningWanted>) { return BeginningWanted{}; },
                 [](std::in_place_type_t<SignOfLife>) { return SignOfLife{}; },
                 [](std::in_place_type_t<Goodbye>) { return Goodbye{}; },
                 [&](std::in_place_type_t<RecordsWanted>) {
                   return RecordsWanted{take_list<int64_t>(in, [](ByteReader& one) { return one.take<int64_t>(); })};
                 },
                 [&](std::in_place_type_t<NotesWanted>) {
                   return NotesWanted{take_list<NotesPlace>(in, [](ByteReader& one) {
                     const size_t partition = one.take<uint32_t>();
                     return NotesPlace{partition, one.take<uint64_t>()};
                   })};
                 },
                 [&](std::in_place_type_t<RowsWanted>) {
                   return RowsWanted{take_list<SharedRow>(in, [](ByteReader& one) {
                     const size_t partition = one.take<uint32_t>();
                     return SharedRow{partition, one.take<uint64_t>()};
                   })};
                 }};
  if (rank > INT_MAX || !take_alternative(what, request.what, take)) return no_request();
  FOREBAY_RETURN_IF_ERROR(check_all_read(in));
  if (items_of(request) > kMostRankItems) return no_request();
  return request;
}

Buffer encode_leader_response(const LeaderResponse& response) {
  MessageFields out(kLeaderResponse);
  out.put(static_cast<uint8_t>(response.index()));
  std::visit(Overloaded{[](const NotYet&) {}, [&](const InAnotherRun& elsewhere) { out.put(elsewhere.run); },
                        [](const NoSuchDecision&) {}, [](const StreamEnd&) {},
                        [&](const StreamBeginning& beginning) {
                          put_list(out, beginning.after, [&](const std::string& offset) { out.put_text(offset); });
                        },
                        [&](const Decision& decision) { decision.put(out); }},
             response);
  return out.done();
}

Status check_leader_response(std::span<const uint8_t> bytes) { return read_fields(bytes, kLeaderResponse).status(); }

Result<LeaderResponse> parse_leader_response(std::span<const uint8_t> bytes, size_t partitions) {
  FOREBAY_ASSIGN(const std::string_view fields, read_fields(bytes, kLeaderResponse));
  ByteReader in(fields);
  Status wrong;
  LeaderResponse response;
  const auto take = Overloaded{
      [](std::in_place_type_t<NotYet>) { return NotYet{}; },
      [&](std::in_place_type_t<InAnotherRun>) { return InAnotherRun{in.take<uint64_t>()}; },
      [](std::in_place_type_t<NoSuchDecision>) { return NoSuchDecision{}; },
      [](std::in_place_type_t<StreamEnd>) { return StreamEnd{}; },
      [&](std::in_place_type_t<StreamBeginning>) {
        StreamBeginning beginning{take_list<std::string>(in, [](ByteReader& one) { return one.take_text(); })};
        if (beginning.after.size() != partitions) wrong = no_leader_response();
        return beginning;
      },
      [&](std::in_place_type_t<Decision>) {
        Result<Decision> decision = Decision::take(in, partitions);
        wrong = decision.status();
        return decision.ok() ? *std::move(decision) : Decision();
      }};
  if (!take_alternative(in.take<uint8_t>(), response, take)) return no_leader_response();
  if (!wrong.ok()) return corrupt(wrong.message());
  FOREBAY_RETURN_IF_ERROR(check_all_read(in));
  return response;
}

Response encode_rank_items(uint64_t most_bytes, std::vector<FoundItem> found) {
  const std::vector<uint64_t> most(found.size(), most_bytes);
  return encode_items(kRankItems, most, std::move(found));
}

Result<std::vector<ResponseItem>> parse_rank_items(size_t count, uint64_t most_bytes, const Buffer& response) {
  return parse_items(kRankItems, std::vector<uint64_t>(count, most_bytes), response);
}

uint64_t most_rank_items_bytes(size_t count, uint64_t most_bytes) {
  return most_items_bytes(std::vector<uint64_t>(count, most_bytes));
}

}  // namespace forebay
