package file

import (
	"encoding/json"
	"math"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// A record is a lock as its file says it. The deadline is written on two
// clocks: the boot clock, which nobody sets, counts on the machine that wrote
// it; another machine, or the same one after a reboot, goes by the wall clock.
type record struct {
	Owner string        `json:"owner,omitempty"` // "": nobody's
	Boot  string        `json:"boot,omitempty"`  // whose boot clock Until is on
	Until time.Duration `json:"until,omitempty"` // on the boot clock
	Wall  int64         `json:"wall"`            // ns of Unix time: the deadline, or when it was released
	Fence uint64        `json:"fence,omitempty"` // the last one given

	here string // the boot of the process that reads it
}

// A moment is now, on both clocks.
type moment struct {
	boot time.Duration
	wall time.Time
}

func (l *leases) now() moment { return moment{bootClock(), time.Now()} }

// readRecord reads the record of key. None is the zero record.
func readRecord(f folder, name, key string) (record, error) {
	it, ok, err := live(f.read(name, key))
	if err != nil || !ok {
		return record{here: thisBoot}, err
	}
	r := record{here: thisBoot}
	if json.Unmarshal(it.value, &r) != nil || r.Fence == math.MaxUint64 { // after which none is higher
		return record{}, unreadable("no record of a lock")
	}
	return r, nil
}

func (r record) encode() []byte {
	data, err := json.Marshal(r)
	if err != nil {
		panic(err) // strings and integers
	}
	return data
}

// live reports whether the lock is somebody's.
func (r record) live(clock sdk.LeaseClock, now moment) bool { return r.remaining(clock, now) > 0 }

func (r record) remaining(clock sdk.LeaseClock, now moment) time.Duration {
	switch {
	case r.Owner == "":
		return 0
	case clock == sdk.BackendClock && r.Boot != "" && r.Boot == r.here:
		return r.Until - now.boot
	}
	return time.Unix(0, r.Wall).Sub(now.wall)
}

// until is the record with r's owner and lease.
func (r record) until(q sdk.LeaseRequest, now moment) record {
	r.Owner, r.Boot = q.Owner, r.here
	r.Until = now.boot + q.Lease
	r.Wall = now.wall.Add(q.Lease).UnixNano()
	return r
}

func (r record) grant(q sdk.LeaseRequest) sdk.LeaseGrant {
	return sdk.LeaseGrant{OK: true, Fence: r.Fence, Remaining: q.Lease}
}

// keepUntil is when the sweeper may remove the file, in ms of Unix time.
func (r record) keepUntil() int64 {
	end := time.Unix(0, r.Wall)
	if r.Fence != 0 {
		end = end.Add(fenceLife)
	}
	return end.UnixMilli() + 1
}
