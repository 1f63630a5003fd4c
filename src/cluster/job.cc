#include "cluster/job.h"

#include <utility>

namespace forebay {

namespace {

RunCheck::Time job_now() { return std::chrono::steady_clock::now().time_since_epoch(); }

}  // namespace

Job::Job(MembershipOptions options)
    : transport_(std::move(options.transport)), rank_(options.rank), held_(std::move(options.held)) {}

Result<std::shared_ptr<Job>> Job::open(MembershipOptions options, Rendezvous& rendezvous, std::stop_token stop) {
  const PeerHost own = options.own;
  const std::chrono::milliseconds deadline = options.deadline;
  Services services = std::move(options.services);
  std::shared_ptr<Job> job(new Job(std::move(options)));
  services.emplace(kRunServiceName, job->run_);
  // The listener is opened before the ranks meet, because the card holds the port that the system
  // chose.
  FOREBAY_ASSIGN(std::unique_ptr<Listening> listening,
                 job->transport_->listen(own.address, own.pass, std::move(services)));
  job->address_ = listening->address();
  {
    const Lock lock(job->mutex_);
    job->listening_ = std::move(listening);
  }
  const auto started = std::chrono::system_clock::now().time_since_epoch().count();
  const HostCard card{job->address_, static_cast<uint64_t>(started), own.pass.token};
  FOREBAY_ASSIGN(const Membership met, rendezvous.meet(job->rank_, card, deadline, std::move(stop)));
  job->hosts_ = met.peers();
  return job;
}

void Job::call(int rank, std::string_view service, Buffer request, const CallLimits& limits, std::stop_token stop,
               Transport::Done done) const {
  transport_->call(host(rank), service, std::move(request), limits, std::move(stop), std::move(done));
}

Result<Buffer> Job::ask(int rank, std::string_view service, Buffer request, const CallLimits& limits,
                        const std::stop_token& stop) const {
  return call_and_wait(*transport_, host(rank), service, std::move(request), limits, stop);
}

void Job::set_run(RunTerms terms) {
  if (rank_ == 0) return run_->set_terms(std::move(terms));
  {
    const Lock lock(mutex_);
    check_ = std::make_unique<RunCheck>(transport_, host(0), rank_, std::move(terms));
  }
  (void)check_run();  // sends the first question to rank 0
}

RunCheck* Job::check() const {
  const Lock lock(mutex_);
  return check_.get();
}

void Job::edit_run(const std::function<void(RunChanges&)>& change) {
  if (rank_ == 0) return run_->edit(change);
  if (RunCheck* const check = this->check()) check->edit(change);
}

void Job::ask_soon() {
  if (RunCheck* const check = this->check()) check->ask_soon();
}

Status Job::check_run() {
  RunCheck* const check = this->check();
  return check == nullptr ? Status() : check->poll(job_now());
}

Result<bool> Job::ask_run(const std::stop_token& stop) {
  RunCheck* const check = this->check();
  return check == nullptr ? Result<bool>(true) : check->ask(stop);
}

void Job::close() {
  std::unique_ptr<Listening> listening;
  const Lock lock(mutex_);
  held_.reset();
  // Destroyed after the lock is released: its destructor waits for services that are being called.
  listening = std::move(listening_);
}

}  // namespace forebay
