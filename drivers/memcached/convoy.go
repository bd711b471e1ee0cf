package memcached

import "time"

// What a convoy holds at most: neither side must have so much to say that it
// doesn't listen.
const (
	convoyCommands = 256
	convoyBytes    = 256 << 10
)

// A convoy is jobs whose commands go out together. It grows only while there
// is no lane to send them on.
type convoy struct {
	jobs     []*job
	commands int
	bytes    int
	full     bool
}

// fits takes a job in if there is room. An order travels alone.
func (c *convoy) fits(j *job) bool {
	bytes := j.bytes()
	switch {
	case c.full, c.commands > 0 && (j.order != nil || c.commands+len(j.commands) > convoyCommands || c.bytes+bytes > convoyBytes):
		return false
	case j.order != nil:
		c.full = true
	}
	c.commands += len(j.commands)
	c.bytes += bytes
	return true
}

// bytes is how much a job's items weigh.
func (j *job) bytes() (n int) {
	for _, c := range j.commands {
		n += c.size
	}
	return n
}

// perform sends all commands and then reads the answers, so that it ends each
// job as soon as it can.
func (c *convoy) perform(l *lane) {
	err := l.ready()
	if err == nil {
		l.link.begin(0, nil)
		l.in.Reset(l.link)
		l.out.Reset(l.link)
		c.write(l)
		err = c.read(l, l.out.Flush())
	}
	for _, j := range c.jobs {
		j.end(nil, err)
	}
}

// write writes the commands of those who still wait for them.
func (c *convoy) write(l *lane) {
	waiting := c.jobs[:0]
	for _, j := range c.jobs {
		if !j.fate.send() {
			j.end(nil, errLeft)
			continue
		}
		waiting = append(waiting, j)
		for i, command := range j.commands {
			if command.size > 0 && !l.fits(command.size) {
				j.results[i] = l.server.tooLarge(command.size + itemOverhead)
				continue
			}
			command.write(l.out)
		}
	}
	c.jobs = waiting
}

// read ends the jobs of which all answers have come. Its error, or that of
// writing, is for the rest.
func (c *convoy) read(l *lane, err error) error {
	k := l.link
	for err == nil && len(c.jobs) > 0 {
		if err = c.jobs[0].read(l); err == nil {
			c.jobs[0].end(nil, nil)
			c.jobs = c.jobs[1:]
		}
	}
	k.used = time.Now()
	if err != nil {
		l.drop()
		return l.lost(k)
	}
	return nil
}

// read reads the answers that are due.
func (j *job) read(l *lane) (err error) {
	for i, command := range j.commands {
		if j.results[i] == errUnanswered && err == nil {
			j.results[i], err = l.read(command)
		}
	}
	return err
}
