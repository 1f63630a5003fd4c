// Transfers of the loop that cannot continue: those that wait for a name, a connection or a
// descriptor, those that exceed a deadline, and those that were stopped.
#include <algorithm>
#include <utility>

#include "store/http/curl_loop.h"

namespace forebay {

bool CurlLoop::try_begin_lookup(CurlTransfer* transfer) {
  // Lookups are keyed by host and port, like libcurl's own cache of names, so later transfers find
  // the name there.
  Lookup& lookup = lookups_[transfer->origin()];
  if (lookup.by == nullptr) lookup.by = transfer;
  transfer->waits_for_lookup = lookup.by != transfer;
  return lookup.by == transfer;
}

void CurlLoop::end_own_lookup(CurlTransfer* transfer) { end_lookup(*transfer, {}); }

void CurlLoop::wait_for_lookup(Transfer transfer) {
  idle_handles_.push_back(transfer->take_handle());
  // The transfer keeps its start time: waiting for another's lookup counts against its own
  // deadline.
  transfer->reset(CurlTransfer::StartTime::kKeep);
  const auto lookup = lookups_.find(transfer->origin());
  if (lookup == lookups_.end()) {
    queue_.push_front(std::move(transfer));
  } else {
    lookup->second.others.push_back(std::move(transfer));
  }
}

/// Lets the waiting transfers go on, or fail as the lookup did, because their own lookups would
/// fail the same way.
void CurlLoop::end_lookup(const CurlTransfer& transfer, const Status& failure) {
  const auto lookup = lookups_.find(transfer.origin());
  if (lookup == lookups_.end() || lookup->second.by != &transfer) return;
  auto others = std::move(lookup->second.others);
  lookups_.erase(lookup);
  // Pushed to the front from the last to the first, so that they keep their order and precede later
  // transfers.
  for (auto other = others.rbegin(); other != others.rend(); ++other) {
    if (failure.ok()) {
      queue_.push_front(std::move(*other));
    } else {
      (*other)->call().answer(failure);
    }
  }
}

bool CurlLoop::try_open(CurlTransfer* transfer) {
  const ConnectionOpenings::Server server = transfer->server();
  const auto load = openings_.has_no_opener(server) ? load_of(server) : ConnectionOpenings::Load();
  transfer->waits_for_connection = !openings_.try_open(server, transfer, load, Clock::now());
  return !transfer->waits_for_connection;
}

ConnectionOpenings::Load CurlLoop::load_of(const ConnectionOpenings::Server& server) const {
  std::unordered_map<int, size_t> requests;
  for (const auto& [transfer, owner] : active_) {
    if (transfer->connection() != 0 && transfer->server() == server) ++requests[transfer->connection()];
  }
  ConnectionOpenings::Load load{.connections = requests.size()};
  for (const auto& [connection, count] : requests) load.most = std::max(load.most, count);
  return load;
}

void CurlLoop::connected(CurlTransfer* transfer) { openings_.connected(transfer->server(), transfer, Clock::now()); }

void CurlLoop::answered(CurlTransfer* transfer, int major_version) {
  resume(openings_.answered(transfer->server(), transfer, major_version));
}

void CurlLoop::wait_for_connection(Transfer transfer) {
  idle_handles_.push_back(transfer->take_handle());
  transfer->reset(CurlTransfer::StartTime::kKeep);
  const ConnectionOpenings::Server server = transfer->server();
  if (openings_.has_no_opener(server)) {
    queue_.push_front(std::move(transfer));
  } else {
    openings_.wait(server, std::move(transfer));
  }
}

void CurlLoop::resume(std::vector<Transfer> waited) {
  for (auto transfer = waited.rbegin(); transfer != waited.rend(); ++transfer) queue_.push_front(std::move(*transfer));
}

void CurlLoop::end_opening(const CurlTransfer& transfer) {
  if (transfer.over_tls()) resume(openings_.ended(transfer.server(), &transfer));
}

void CurlLoop::wait_for_descriptor(Transfer transfer) {
  end_lookup(*transfer, {});
  end_opening(*transfer);
  idle_handles_.push_back(transfer->take_handle());
  // The start time is reset, because the transfer waits for the process and not for the server.
  // kDescriptorTries bounds it.
  transfer->reset(CurlTransfer::StartTime::kReset);
  ++transfer->descriptor_tries;
  // The number of transfers now is what the process can open. check_deadlines() raises it again
  // when descriptors are free.
  max_active_ = std::max<size_t>(active_.size(), 1);
  retry_at_ = Clock::now() + kCheckEvery;
  queue_.push_front(std::move(transfer));
}

void CurlLoop::check_deadlines() {
  const auto now = Clock::now();
  if (now < next_check_) return;
  next_check_ = now + kCheckEvery;
  std::vector<std::pair<CurlTransfer*, Status>> late;
  for (const auto& [transfer, owner] : active_) {
    // Collected first, because removing a transfer changes the map.
    if (Status status = transfer->check_deadlines(now); !status.ok()) late.emplace_back(transfer, std::move(status));
  }
  std::vector<std::pair<Transfer, Status>> ended;
  for (auto& [transfer, status] : late) {
    ended.emplace_back(remove(transfer), std::move(status));
    idle_handles_.push_back(transfer->take_handle());
    end_lookup(*transfer, {});
    end_opening(*transfer);
  }
  const auto late_too = [&](Transfer& other) {
    Status status = other->check_deadlines(now);
    if (status.ok()) return false;
    ended.emplace_back(std::move(other), std::move(status));
    return true;
  };
  for (auto& [origin, lookup] : lookups_) std::erase_if(lookup.others, late_too);
  openings_.erase_waiting_if(late_too);
  for (auto& [transfer, status] : ended) {
    if (transfer->request().observer) transfer->request().observer->on_timeout();
    transfer->call().answer(std::move(status));
  }
  if (max_active_ < options_.max_connections && queue_.size() > 0)
    max_active_ = std::max(max_active_, room_for_connections());
}

void CurlLoop::drop_answered() {
  std::vector<CurlTransfer*> gone;
  for (const auto& [transfer, owner] : active_) {
    if (transfer->call().answered()) gone.push_back(transfer);
  }
  for (CurlTransfer* transfer : gone) {
    const Transfer removed = remove(transfer);
    idle_handles_.push_back(removed->take_handle());
    end_lookup(*removed, {});
    end_opening(*removed);
  }
  const auto is_answered = [](const Transfer& transfer) { return transfer->call().answered(); };
  std::erase_if(queue_, is_answered);
  for (auto& [origin, lookup] : lookups_) std::erase_if(lookup.others, is_answered);
  openings_.erase_waiting_if(is_answered);
}

}  // namespace forebay
